// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// roleMadeBy is the ClusterRebootPolicy of a RebootPolicy that was made.
const roleMadeBy = "made by"

// clusterHealth is the health of a ClusterRebootPolicy, with the counts of its status.
func clusterHealth(o *v1.ClusterRebootPolicy, health Health, reason string) (Health, string) {
	s := &o.Status
	if s.Namespaces == nil {
		return health, reason
	}
	counts := fmt.Sprintf("%d of %s", ptr.Deref(s.Policies, 0), events.Plural(int(*s.Namespaces), "namespace has its policy", "namespaces have its policy"))
	if refused := ptr.Deref(s.RefusedNamespaces, 0); refused > 0 {
		counts += ", and " + events.Plural(int(refused), "refuses it", "refuse it")
	}
	if reason != "" {
		counts = reason + ": " + counts
	}
	switch {
	case health != Failed:
	case reason == v1.ClusterReasonNotInStep:
		health = Progressing
	case ptr.Deref(s.RefusedNamespaces, 0) > 0 && ptr.Deref(s.Policies, 0) > 0:
		health = Degraded
	}
	return health, counts
}

// concerns reports whether an object is of the namespace that was asked for: of a ClusterRebootPolicy, whether it has a policy
// there or is refused.
func (g *Graph) concerns(o *Object) bool {
	of, is := o.Source.(*v1.ClusterRebootPolicy)
	return !is || g.namespace == "" || len(o.NeededBy) > 0 ||
		slices.ContainsFunc(of.Status.Refusals, func(r v1.NamespaceRefusal) bool { return r.Namespace == g.namespace })
}

// namespaces is the kind Namespace. Only its metadata is read, since a ClusterRebootPolicy selects by labels.
var namespaces = kind{
	Kind: "Namespace", resource: "namespaces", group: corev1.SchemeGroupVersion, ofCluster: true,
	object: func() client.Object {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	},
	list: func() client.ObjectList {
		return &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
	},
}

// readNamespaces adds the labels of the namespaces that matter to an object, as far as the user may read them.
func (g *Graph) readNamespaces(ctx context.Context, from client.Reader, of Key) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	g.namespaces = map[string]labels.Set{}
	if of.Kind != ClusterRebootPolicy {
		o := namespaces.object()
		if err := from.Get(ctx, client.ObjectKey{Name: of.Namespace}, o); err == nil {
			g.namespaces[of.Namespace] = o.GetLabels()
		}
		return
	}
	_, err := list(ctx, from, namespaces, metav1.NamespaceAll, func(o client.Object) {
		if o.GetDeletionTimestamp() == nil {
			g.namespaces[o.GetName()] = o.GetLabels()
		}
	})
	if err != nil {
		g.Unread = append(g.Unread, Unread{Resource: namespaces.groupResource(), Message: words(err, namespaces, "list", "")})
	}
}

// clusterPolicy returns where a ClusterRebootPolicy has its policy, where it is refused, and why other namespaces have none.
func (e *explainer) clusterPolicy(o *Object) (found []Finding) {
	of, is := o.Source.(*v1.ClusterRebootPolicy)
	if !is {
		return nil
	}
	var made []string
	has := map[string]bool{}
	for _, r := range o.NeededBy {
		if r.Role == roleMadeBy {
			has[r.Object.Namespace] = true
			made = append(made, r.Object.Namespace)
		}
	}
	slices.Sort(made)
	if len(made) > 0 {
		found = append(found, Finding{About: "policies", Message: fmt.Sprintf("%s RebootPolicy %s: %s",
			events.Plural(len(made), "namespace has", "namespaces have"), o.Name, events.Summarize(made))})
	}
	for i := range of.Status.Refusals {
		refusal := &of.Status.Refusals[i]
		f := e.finding(o, v1.ConditionReady, refusal.Reason, false)
		f.About, f.Message = "namespace "+refusal.Namespace, refusal.Message
		found, has[refusal.Namespace] = append(found, f), true
	}
	return append(found, e.graph.without(of, has)...)
}

// without returns why namespaces have no policy of a ClusterRebootPolicy, a finding for each cause.
func (g *Graph) without(of *v1.ClusterRebootPolicy, has map[string]bool) (found []Finding) {
	selector, err := of.Spec.NamespaceSelector.Selector()
	if err != nil || len(g.namespaces) == 0 {
		return nil // Ready says so, or Unread
	}
	workloads := map[string][]*Object{}
	for _, o := range g.Objects {
		if IsWorkload(o.Kind) && o.Source != nil {
			workloads[o.Namespace] = append(workloads[o.Namespace], o)
		}
	}
	byCause := map[string][]string{}
	for _, namespace := range slices.Sorted(maps.Keys(g.namespaces)) {
		if has[namespace] || !selector.Matches(g.namespaces[namespace]) {
			continue
		}
		cause, detail := g.causeIn(of, workloads[namespace])
		if detail != "" {
			namespace += " (" + detail + ")"
		}
		byCause[cause] = append(byCause[cause], namespace)
	}
	for _, cause := range []string{causeOwes, causeOther, causeOut, causeAsks} {
		if in := byCause[cause]; len(in) > 0 {
			found = append(found, Finding{
				About: "namespaces without a policy", Message: cause + ": " + events.Summarize(in), Remedy: causeRemedies[cause],
			})
		}
	}
	return found
}

// Why a ClusterRebootPolicy does not restart a workload.
const (
	causeOwes  = "a policy is pending"
	causeOther = "another RebootPolicy for the workload takes precedence"
	causeOut   = "an annotation of the workload opts out"
	causeAsks  = "no workload asks for it"
)

var causeRemedies = map[string]string{
	causeOwes: "Wait. If none appears, no admission webhook is called for the namespace, or status.refusals of the ClusterRebootPolicy has the cause.",
	causeOut:  "Remove the annotation to have the workload restarted.",
	causeAsks: "Set the annotation " + common.RestartOnChangeAnnotation + " on the workload, if it is to be restarted.",
}

// causeIn returns why a namespace with these workloads has no policy of a ClusterRebootPolicy, and what that is about.
func (g *Graph) causeIn(of *v1.ClusterRebootPolicy, workloads []*Object) (cause, detail string) {
	cause = causeAsks
	for _, w := range workloads {
		if c, d := g.causeOf(of, w); cause == causeAsks || c == causeOwes {
			cause, detail = c, d
		}
	}
	return cause, detail
}

// causeOf returns why a workload has no policy of a ClusterRebootPolicy that selects its namespace, and what that is about.
func (g *Graph) causeOf(of *v1.ClusterRebootPolicy, o *Object) (cause, detail string) {
	w := &rebootpolicy.Workload{Kind: common.WorkloadKind(o.Kind), Namespace: o.Namespace, Name: o.Name, Labels: o.Source.GetLabels(),
		Annotations: o.Source.GetAnnotations(), TemplateAnnotations: templateAnnotations(o.Source)}
	name := o.Kind + " " + o.Name
	if !rebootpolicy.Takes(&of.Spec.Template.Spec, w) {
		onChange := rebootpolicy.OnChangeOf(of.Spec.Template.Spec.Compatibility, w)
		if onChange.OptedOut {
			return causeOut, name
		}
		return causeAsks, ""
	}
	made := rebootpolicy.FromTemplate(of)
	made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, v1.GroupVersion.WithKind(ClusterRebootPolicy))}
	for _, other := range g.Objects {
		policy, is := other.Source.(*v1.RebootPolicy)
		if is && other.Namespace == o.Namespace && rebootpolicy.YieldsTo(made, policy) && rebootpolicy.Takes(&policy.Spec, w) {
			return causeOther, "RebootPolicy " + policy.Name + " takes " + name
		}
	}
	return causeOwes, name
}

// notTaken returns, of each ClusterRebootPolicy that does not restart a workload, why.
func (e *explainer) notTaken(o *Object) (found []Finding) {
	for _, c := range e.graph.Objects {
		of, is := c.Source.(*v1.ClusterRebootPolicy)
		if !is {
			continue
		}
		cause, detail := e.graph.causeOf(of, o)
		selector, err := of.Spec.NamespaceSelector.Selector()
		in, known := e.graph.namespaces[o.Namespace]
		f := Finding{About: "ClusterRebootPolicy " + of.Name, Message: cause, Remedy: causeRemedies[cause]}
		switch {
		case err != nil:
			continue
		case known && !selector.Matches(in):
			f.Message, f.Remedy = "its namespaceSelector does not select the namespace", "Label the namespace as the selector asks, if the workload is to be restarted."
		case cause == causeOwes && e.graph.byKey[Key{RebootPolicy, o.Namespace, of.Name}] != nil:
			continue // its policy restarts the workload, which another finding says
		case cause == causeOther:
			f.Message += ": " + detail
		case cause == causeAsks:
			f.Message = "the workload does not ask for it"
		}
		if !known && !selector.Empty() {
			f.Message += "; whether its namespaceSelector selects the namespace could not be read"
		}
		found = append(found, f)
	}
	return found
}
