// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/references"
)

var secretKind = schema.GroupKind{Kind: "Secret"}

var restartDifferences = []string{
	"A restart waits 15s for further changes (debounce), the next one of the same workload comes 10m after the last at the earliest (cooldown), and a workload has " +
		"6 a day at most (limit).",
	"A restart is verified. One that fails is tried again, and halts the policy if it goes on failing.",
	"A change while the operator is down is found later. What is there when a policy is made is its baseline: nothing restarts.",
}

var restartSteps = []string{
	"Apply the policies with dryRun true, change a ConfigMap, and see in the condition Waiting what they would do.",
	"Scale the old project to zero, and set dryRun false, or remove it. Two that act on one workload restart it twice.",
	"The user who applies a policy needs the right to patch the workload, and to read what it watches.",
	"Leave what the old project wrote into pod templates: to remove it starts a rollout.",
}

// nameOfObject is a name that ConfigMaps and Secrets can have.
var nameOfObject = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// isTrue reports whether an annotation has a value that Go reads as true.
func isTrue(text string) bool {
	value, err := strconv.ParseBool(text)
	return err == nil && value
}

// annotation returns one of the workload, or of its pod template.
func (s *subject) annotation(name string) cursor {
	c := s.root().in("metadata", "annotations", name)
	if c.exists() {
		return c
	}
	return s.root().in("spec", "template", "metadata", "annotations", name)
}

// source is one that a policy watches.
type source struct {
	kind autorebootv1.SourceKind
	name string
}

// source returns the object of a source; nil where the input has it not, or it is not read.
func (r *run) source(o source, namespace string) *object {
	switch o.kind {
	case autorebootv1.SourceConfigMap:
		return r.get(configMapKind, namespace, o.name)
	case autorebootv1.SourceSecret:
		return r.get(secretKind, namespace, o.name)
	}
	return nil
}

// referenced returns the sources that a pod template refers to, as a RebootPolicy finds them.
func referenced(o *object) (found []source, err error) {
	var template corev1.PodTemplateSpec
	spec := o.podSpec()
	if spec == nil {
		return nil, nil
	}
	raw, err := json.Marshal(spec.Exact())
	if err == nil {
		err = json.Unmarshal(raw, &template.Spec)
	}
	for _, ref := range references.Of(&template) {
		found = append(found, source{ref.Kind, ref.Name})
	}
	return found, err
}

// sourcesOf returns the sources of workloads, of which the annotations count.
func sourcesOf(in *input, wanted func(o *object) bool) (found []key) {
	for _, kind := range restartedKinds {
		for _, o := range in.objects[kind] {
			if !wanted(o) {
				continue
			}
			refers, _ := referenced(o) // the translation refuses what does not fit
			for _, src := range refers {
				if !isRead(src.kind) {
					continue
				}
				k := key{schema.GroupKind{Kind: string(src.kind)}, o.namespace, src.name}
				if !slices.Contains(found, k) {
					found = append(found, k)
				}
			}
		}
	}
	return found
}

// policy is a RebootPolicy of one workload.
type policy struct {
	*subject
	trigger autorebootv1.ConfigChange
	spec    autorebootv1.RebootPolicySpec
}

// explicit watches sources alone, and no others that the template refers to.
func (p *policy) explicit() {
	explicit := autorebootv1.DiscoveryExplicit
	p.trigger.Discovery = &explicit
}

func (p *policy) add(src source) {
	if !slices.ContainsFunc(p.trigger.Sources, func(s autorebootv1.ConfigSource) bool { return s.Kind == src.kind && s.Name == src.name }) {
		p.trigger.Sources = append(p.trigger.Sources, autorebootv1.ConfigSource{Kind: src.kind, Name: src.name})
	}
}

// emit writes the policy, named as the workload; names counts the workloads of each name.
func (p *policy) emit(r *run, names map[string]int, more ...*subject) {
	out := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.workloadName(names)}, Spec: p.spec}
	target := autorebootv1.Target{Kind: common.WorkloadKind(p.GroupVersionKind.Kind), Name: p.name}
	if p.GroupKind() == rolloutKind {
		target.Group = rolloutKind.Group
	}
	out.Spec.Targets = []autorebootv1.Target{target}
	trigger := autorebootv1.Trigger{Name: "config", Type: autorebootv1.TriggerConfigChange}
	if c := p.trigger; c.Discovery != nil || len(c.Sources)+len(c.Exclude) > 0 || c.OnCreate != nil || c.OnDelete != nil {
		trigger.ConfigChange = &c
	}
	out.Spec.Triggers = []autorebootv1.Trigger{trigger}
	r.emit(out, append([]*subject{p.subject}, more...)...)
}

// workloadName is the name of an object for one workload: that of the workload, with its kind where another kind has one of
// that name.
func (s *subject) workloadName(names map[string]int) string {
	name := s.name
	if names[s.namespace+"/"+s.name] > 1 {
		name += "-" + strings.ToLower(s.GroupVersionKind.Kind)
	}
	if limit := 52; len(name) > limit {
		name = strings.TrimRight(name[:limit], "-.")
		s.say(Differs, "the object has a name of at most %d characters", limit)
	}
	return name
}

// workloads returns those of the kinds that Fairlead restarts, and of more of them, that are wanted, and how many there are of each
// name. Those of other kinds that are wanted are refused.
func (r *run) workloads(wanted func(o *object) bool, more ...schema.GroupKind) (found []*object, names map[string]int) {
	names = map[string]int{}
	for _, kind := range slices.Concat(restartedKinds, more) {
		for _, o := range r.objects[kind] {
			if wanted(o) {
				found = append(found, o)
				names[o.namespace+"/"+o.name]++
			}
		}
	}
	for _, kind := range []schema.GroupKind{jobKind, cronJobKind, {Group: "apps.openshift.io", Kind: "DeploymentConfig"}} {
		for _, o := range r.objects[kind] {
			if wanted(o) && !slices.Contains(more, kind) {
				r.subject(o).say(Refused, "a RebootPolicy restarts Deployments, StatefulSets, DaemonSets and Argo Rollouts: leave it to the old project")
			}
		}
	}
	return found, names
}
