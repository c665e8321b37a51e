// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// reference is a workload that refers to sources which change.
type reference struct {
	key     inspect.Key
	rules   rules.Workload
	sources map[rules.SourceName]bool
}

// referring are the workloads that refer to sources which change, before or after the change.
type referring struct {
	// changed are the places of the sources in the forecast, and among the names of those of each namespace.
	changed map[inspect.Key]int
	among   map[string]map[rules.SourceName]bool
	// inNamespace are the workloads of each namespace, and named those with a key.
	inNamespace map[string][]*reference
	named       map[inspect.Key]bool
}

func (w *world) references() *referring {
	r := &referring{
		changed: map[inspect.Key]int{}, among: map[string]map[rules.SourceName]bool{}, inNamespace: map[string][]*reference{},
		named: map[inspect.Key]bool{},
	}
	for i := range w.changed {
		s := &w.changed[i]
		r.changed[s.Key] = i
		if r.among[s.Namespace] == nil {
			r.among[s.Namespace] = map[rules.SourceName]bool{}
		}
		r.among[s.Namespace][rules.SourceName{Kind: autorebootv1.SourceKind(s.Kind), Name: s.Name}] = true
	}
	for _, object := range w.is.Objects {
		key := inspect.KeyOf(object)
		if r.among[key.Namespace] == nil {
			continue
		}
		for _, side := range []client.Object{object, w.replaced[key]} {
			if found := w.referenceOf(key, side, r.among[key.Namespace]); found != nil {
				r.inNamespace[key.Namespace] = append(r.inNamespace[key.Namespace], found)
				r.named[key] = true
			}
		}
	}
	return r
}

// template is the pod template of a workload; nil for another object. That of a Rollout may be in a Deployment.
func (w *world) template(object client.Object) *corev1.PodTemplateSpec {
	if object == nil {
		return nil
	}
	return inspect.TemplateOf(object, func(key inspect.Key) client.Object { return cmp.Or(w.replaced[key], w.objects[key]) })
}

func (w *world) referenceOf(key inspect.Key, object client.Object, changed map[rules.SourceName]bool) *reference {
	template := w.template(object)
	if template == nil {
		return nil
	}
	r := &reference{key: key, rules: inspect.WorkloadOf(key, object, template)}
	r.sources = inspect.SourcesOf(&r.rules, template)
	maps.DeleteFunc(r.sources, func(name rules.SourceName, _ bool) bool { return !changed[name] })
	if len(r.sources) == 0 {
		return nil
	}
	return r
}

// mayConcern reports whether a policy may watch what changes. Whether it does, the controller decides.
func (r *referring) mayConcern(policy *autorebootv1.RebootPolicy) bool {
	among := r.among[policy.Namespace]
	if among == nil {
		return false
	}
	for i := range policy.Spec.Triggers {
		t := &policy.Spec.Triggers[i]
		switch {
		case t.CertificateRenewal != nil && among[rules.SourceName{Kind: autorebootv1.SourceSecret, Name: t.CertificateRenewal.SecretName}]:
			return true
		case t.Type != autorebootv1.TriggerConfigChange && t.ConfigChange == nil:
			continue
		case r.takes(policy):
			return true
		case t.ConfigChange != nil && slices.ContainsFunc(t.ConfigChange.Sources, func(s autorebootv1.ConfigSource) bool {
			return s.Selector != nil || among[rules.SourceName{Kind: s.Kind, Name: s.Name}]
		}):
			return true
		}
	}
	return false
}

// takes reports whether a policy takes one of the workloads.
func (r *referring) takes(policy *autorebootv1.RebootPolicy) bool {
	selects := false
	for i := range policy.Spec.Targets {
		t := &policy.Spec.Targets[i]
		kind := common.KindOfGroup(t.Group, t.Kind)
		if t.Selector == nil && r.named[inspect.Key{Kind: string(kind), Namespace: policy.Namespace, Name: t.Name}] {
			return true
		}
		selects = selects || t.Selector != nil
	}
	isTaken := func(w *reference) bool { return rules.Takes(&policy.Spec, &w.rules) }
	return selects && slices.ContainsFunc(r.inNamespace[policy.Namespace], isTaken)
}

// addUnwatched adds the workloads that refer to a source, and that no policy restarts.
func (f *Forecast) addUnwatched(r *referring, restarted map[inspect.Key]bool) {
	for namespace, all := range r.inNamespace {
		for _, w := range all {
			for source := range w.sources {
				s := &f.Sources[r.changed[inspect.Key{Kind: string(source.Kind), Namespace: namespace, Name: source.Name}]]
				if name := w.key.Argument(); !restarted[w.key] && !slices.Contains(s.Unwatched, name) {
					s.Unwatched = append(s.Unwatched, name)
				}
			}
		}
	}
	for i := range f.Sources {
		slices.Sort(f.Sources[i].Unwatched)
	}
	slices.SortStableFunc(f.Restarts, func(a, b Restart) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Policy, b.Policy), cmp.Compare(a.Order, b.Order))
	})
}

// unreadKinds are kinds of workloads of other projects that policies have as targets.
func (w *world) unreadKinds() []string {
	all := map[string]bool{}
	for _, objects := range []map[inspect.Key]client.Object{w.objects, w.replaced} {
		for _, object := range objects {
			policy, is := object.(*autorebootv1.RebootPolicy)
			if !is {
				continue
			}
			for _, kind := range rules.OptionalKinds(&policy.Spec) {
				if kind != common.WorkloadRollout {
					all[string(kind)] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}
