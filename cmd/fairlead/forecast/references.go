// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/references"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// reference is a workload that refers to sources which change.
type reference struct {
	key     inspect.Key
	rules   rules.Workload
	sources map[rules.SourceName]bool
}

// references are the workloads of each namespace that refer to a source which changes, before or after the change.
func (w *world) references() map[string][]*reference {
	changed := map[string]map[rules.SourceName]bool{} // by namespace
	for i := range w.changed {
		s := &w.changed[i]
		if changed[s.Namespace] == nil {
			changed[s.Namespace] = map[rules.SourceName]bool{}
		}
		changed[s.Namespace][rules.SourceName{Kind: autorebootv1.SourceKind(s.Kind), Name: s.Name}] = true
	}
	found := map[string][]*reference{}
	for _, object := range w.is.Objects {
		key := inspect.KeyOf(object)
		if changed[key.Namespace] == nil {
			continue
		}
		for _, side := range []client.Object{object, w.replaced[key]} {
			if r := referenceOf(key, side, changed[key.Namespace]); r != nil {
				found[key.Namespace] = append(found[key.Namespace], r)
			}
		}
	}
	return found
}

func referenceOf(key inspect.Key, object client.Object, changed map[rules.SourceName]bool) *reference {
	if object == nil || templateOf(object) == nil {
		return nil
	}
	template := templateOf(object)
	r := &reference{key: key, sources: map[rules.SourceName]bool{}, rules: rules.Workload{
		Kind: common.WorkloadKind(key.Kind), Name: key.Name, Labels: object.GetLabels(), Annotations: object.GetAnnotations(),
		TemplateAnnotations: template.Annotations,
	}}
	for _, ref := range references.Of(template) {
		if name := (rules.SourceName{Kind: ref.Kind, Name: ref.Name}); changed[name] {
			r.sources[name] = true
		}
	}
	for _, compatibility := range []autorebootv1.Compatibility{"", autorebootv1.CompatibilityReloader, autorebootv1.CompatibilityWave} {
		onChange := rules.OnChangeOf(compatibility, object.GetAnnotations(), template.Annotations)
		for _, name := range onChange.Names() {
			if changed[name] {
				r.sources[name] = true
			}
		}
	}
	if len(r.sources) == 0 {
		return nil
	}
	return r
}

// mayWatch reports whether a policy may watch what changes. Whether it does, the controller decides.
func (w *world) mayWatch(policy *autorebootv1.RebootPolicy, refers map[string][]*reference) bool {
	names := func(kind autorebootv1.SourceKind, name string) bool {
		return slices.ContainsFunc(w.changed, func(s Source) bool {
			return s.Namespace == policy.Namespace && s.Kind == string(kind) && s.Name == name
		})
	}
	if !slices.ContainsFunc(w.changed, func(s Source) bool { return s.Namespace == policy.Namespace }) {
		return false
	}
	for i := range policy.Spec.Triggers {
		t := &policy.Spec.Triggers[i]
		switch {
		case t.CertificateRenewal != nil && names(autorebootv1.SourceSecret, t.CertificateRenewal.SecretName):
			return true
		case t.Type != autorebootv1.TriggerConfigChange && t.ConfigChange == nil:
			continue
		case slices.ContainsFunc(refers[policy.Namespace], func(r *reference) bool { return rules.Takes(&policy.Spec, &r.rules) }):
			return true
		case t.ConfigChange != nil && slices.ContainsFunc(t.ConfigChange.Sources, func(s autorebootv1.ConfigSource) bool {
			return s.Selector != nil || names(s.Kind, s.Name)
		}):
			return true
		}
	}
	return false
}

// addUnwatched adds the workloads that refer to a source, and that no policy restarts.
func (w *world) addUnwatched(f *Forecast, refers map[string][]*reference, restarted map[inspect.Key]bool) {
	for i := range f.Sources {
		s := &f.Sources[i]
		for _, r := range refers[s.Namespace] {
			name := r.key.Argument()
			source := rules.SourceName{Kind: autorebootv1.SourceKind(s.Kind), Name: s.Name}
			if r.sources[source] && !restarted[r.key] && !slices.Contains(s.Unwatched, name) {
				s.Unwatched = append(s.Unwatched, name)
			}
		}
	}
	slices.SortStableFunc(f.Restarts, func(a, b Restart) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Policy, b.Policy), cmp.Compare(a.Order, b.Order))
	})
}
