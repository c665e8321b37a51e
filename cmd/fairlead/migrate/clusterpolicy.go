// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

var clusterPolicyDifferences = append([]string{
	"A RebootPolicy that you create for a workload takes precedence over the one that is created here. None is created in kube-system or in the namespace of the operator.",
}, restartDifferences...)

var clusterPolicySteps = []string{
	"Apply the ClusterRebootPolicy. What ConfigMaps and Secrets have then is the baseline: nothing restarts. `kubectl get rebootpolicies -A` lists a policy in each namespace that is covered.",
	"Scale the old project to zero right after. While both run, a change can restart a workload twice; not where the old project replaces its pods within the debounce.",
	"The user who applies it needs the right to patch workloads of the kinds of its targets in all namespaces.",
	"Leave what the old project wrote into pod templates: to remove it starts a rollout.",
}

// clusterPolicy is a ClusterRebootPolicy that reads the annotations of another project.
type clusterPolicy struct {
	run     *run
	object  *autorebootv1.ClusterRebootPolicy
	trigger autorebootv1.ConfigChange
	covered []*subject
}

// newClusterPolicy returns one for the workloads with annotations in all namespaces, named as the project.
func (r *run) newClusterPolicy(name string, compatibility autorebootv1.Compatibility) *clusterPolicy {
	p := &clusterPolicy{run: r, object: &autorebootv1.ClusterRebootPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: autorebootv1.ClusterRebootPolicySpec{
			NamespaceSelector: &common.LabelSelector{},
			Template: autorebootv1.RebootPolicyTemplate{Spec: autorebootv1.RebootPolicySpec{
				Compatibility: compatibility,
				Targets:       []autorebootv1.Target{{Selector: &common.LabelSelector{}, OptIn: ptr.To(autorebootv1.OptInAnnotation)}},
			}},
		},
	}}
	p.inNamespaces(metav1.LabelSelectorOpIn, r.options.Namespaces)
	return p
}

// inNamespaces requires namespaces to be, or not to be, of some names; none require nothing.
func (p *clusterPolicy) inNamespaces(operator metav1.LabelSelectorOperator, names []string) {
	if len(names) == 0 {
		return
	}
	requirement := common.LabelRequirement{Key: corev1.LabelMetadataName, Operator: operator}
	for _, name := range names {
		requirement.Values = append(requirement.Values, common.LabelValue(name))
	}
	p.require(requirement)
}

func (p *clusterPolicy) require(requirement common.LabelRequirement) {
	selector := p.object.Spec.NamespaceSelector
	selector.MatchExpressions = append(selector.MatchExpressions, requirement)
}

// cover covers a workload, and reports whether its annotations ask for something.
func (p *clusterPolicy) cover(s *subject) bool {
	spec := &p.object.Spec.Template.Spec
	onChange := rules.OnChangeOf(spec.Compatibility, s.annotated())
	switch {
	case onChange.OptedOut:
		s.say(Left, "an annotation switches its restarts off")
		return false
	case !onChange.Selects(p.targetOf(s.GroupKind())):
		s.say(Left, "its annotations ask for no restart")
		return false
	case s.namespace == metav1.NamespaceSystem:
		s.say(Left, "no admission webhook is called for %s, so that no policy is made there: leave it to the old project", s.namespace)
		return false
	}
	for _, mistake := range onChange.Mistakes {
		s.say(Lost, "%s", mistake)
	}
	if len(onChange.Patterns()) > 0 {
		s.say(Differs, "a regular expression is compared with what the pod template refers to, and with no other ConfigMap or Secret")
	}
	p.covered = append(p.covered, s)
	return true
}

// targetOf returns the target for workloads of a kind. CronJobs and Jobs are restarted where they ask alone.
func (p *clusterPolicy) targetOf(kind schema.GroupKind) *autorebootv1.Target {
	first := &p.object.Spec.Template.Spec.Targets[0]
	switch {
	case kind == rolloutKind:
		return &autorebootv1.Target{Group: kind.Group, Selector: &common.LabelSelector{}, OptIn: first.OptIn}
	case slices.Contains(batchKinds, kind):
		return &autorebootv1.Target{
			Group: kind.Group, Kind: common.WorkloadKind(kind.Kind), Selector: &common.LabelSelector{}, OptIn: ptr.To(autorebootv1.OptInAnnotation),
		}
	}
	return first
}

// annotationsOf returns the annotations of an object, or of a pod template.
func annotationsOf(metadata *manifest.Node) map[string]string {
	found := map[string]string{}
	if annotations := metadata.Get("annotations"); annotations != nil {
		for i := range annotations.Members {
			found[annotations.Members[i].Key], _ = annotations.Members[i].Value.Value.(string)
		}
	}
	return found
}

// emit writes the object, if it covers something.
func (p *clusterPolicy) emit(from ...*subject) {
	if len(p.covered) == 0 {
		return
	}
	trigger := autorebootv1.Trigger{Name: "config", Type: autorebootv1.TriggerConfigChange}
	if c := p.trigger; c.OnCreate != nil || c.OnDelete != nil || len(c.Exclude) > 0 {
		trigger.ConfigChange = &c
	}
	p.object.Spec.Template.Spec.Triggers = []autorebootv1.Trigger{trigger}
	targets := &p.object.Spec.Template.Spec.Targets
	for _, kind := range append([]schema.GroupKind{rolloutKind}, batchKinds...) {
		if slices.ContainsFunc(p.covered, func(s *subject) bool { return s.GroupKind() == kind }) {
			*targets = append(*targets, *p.targetOf(kind))
		}
	}
	p.run.options.profile().apply(&p.object.Spec.Template.Spec)
	p.run.emit(p.object, slices.Concat(from, p.covered)...)
	made := p.run.made[len(p.run.made)-1]
	made.from, made.covered = nil, coverage(p.covered)
	for _, s := range from {
		made.from = append(made.from, s.label())
	}
}

// coverage returns a line for each namespace with the workloads that are covered there.
func coverage(covered []*subject) []string {
	workloads := map[string][]string{}
	for _, s := range covered {
		workloads[s.namespace] = append(workloads[s.namespace], s.GroupVersionKind.Kind+" "+s.name)
	}
	var lines []string
	for _, namespace := range slices.Sorted(maps.Keys(workloads)) {
		in := "in namespace " + namespace
		if namespace == "" {
			in = "in the namespace that the manifests are applied to"
		}
		slices.Sort(workloads[namespace])
		lines = append(lines, fmt.Sprintf("%s: %s", in, strings.Join(workloads[namespace], ", ")))
	}
	return lines
}
