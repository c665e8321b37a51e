// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterrebootpolicy

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// wanted returns the selected namespaces with a workload for the policy that no other policy takes.
func (r *Reconciler) wanted(ctx context.Context, of *autorebootv1.ClusterRebootPolicy) (map[string]bool, error) {
	selected, err := r.selected(ctx, of)
	wanted := map[string]bool{}
	if err != nil || len(selected) == 0 {
		return wanted, err
	}
	others, err := r.others(ctx, of)
	if err != nil {
		return nil, err
	}
	err = workloads.Each(ctx, r.Client, "", func(kind common.WorkloadKind, object metav1.Object) {
		namespace := object.GetNamespace()
		if !selected[namespace] || wanted[namespace] || object.GetDeletionTimestamp() != nil {
			return
		}
		w := &rules.Workload{Kind: kind, Namespace: namespace, Name: object.GetName(),
			Labels: object.GetLabels(), Annotations: object.GetAnnotations(),
			TemplateAnnotations: templateAnnotations(object, r.Kinds.Kinds()...)}
		taken := func(p *autorebootv1.RebootPolicy) bool { return rules.Takes(&p.Spec, w) }
		if rules.Takes(&of.Spec.Template.Spec, w) && !slices.ContainsFunc(others[namespace], taken) {
			wanted[namespace] = true
		}
	}, r.Kinds.Kinds()...)
	return wanted, err
}

func templateAnnotations(object metav1.Object, configured ...workloadkinds.Kind) map[string]string {
	if o, is := object.(*unstructured.Unstructured); is {
		if at := slices.IndexFunc(configured, func(k workloadkinds.Kind) bool { return k.GroupVersionKind == o.GroupVersionKind() }); at >= 0 {
			path := append(slices.Clone(configured[at].Template), "metadata", "annotations")
			annotations, _, _ := unstructured.NestedStringMap(o.Object, path...) // of another type, it has none
			return annotations
		}
	}
	if o, is := object.(client.Object); is {
		if template := workloadkinds.PodTemplate(o); template != nil {
			return template.Annotations
		}
	}
	return nil
}

// selected returns the namespaces that the selector selects. One that is being deleted takes no new object, and one that no
// admission webhook is called for would have a policy without an approval.
func (r *Reconciler) selected(ctx context.Context, of *autorebootv1.ClusterRebootPolicy) (map[string]bool, error) {
	selector, err := of.Spec.NamespaceSelector.Selector()
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{TypeMeta: namespaces().TypeMeta}
	list.Kind += "List"
	if err := r.Client.List(ctx, list, client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	selected := make(map[string]bool, len(list.Items))
	for i := range list.Items {
		n := &list.Items[i]
		if n.DeletionTimestamp.IsZero() && !slices.Contains(r.WebhookExemptNamespaces, n.Name) {
			selected[n.Name] = true
		}
	}
	return selected, nil
}

// others returns, by namespace, the policies that the object's own yields to.
func (r *Reconciler) others(ctx context.Context, of *autorebootv1.ClusterRebootPolicy) (map[string][]*autorebootv1.RebootPolicy, error) {
	var list autorebootv1.RebootPolicyList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	own := newPolicy(of, "")
	others := map[string][]*autorebootv1.RebootPolicy{}
	for i := range list.Items {
		if other := &list.Items[i]; rules.YieldsTo(own, other) {
			others[other.Namespace] = append(others[other.Namespace], other)
		}
	}
	return others, nil
}

// made returns the policies that the object has made, by namespace, as the cache holds them, and those that were restored with it.
func (r *Reconciler) made(ctx context.Context, of *autorebootv1.ClusterRebootPolicy) (map[string]*autorebootv1.RebootPolicy, error) {
	var list autorebootv1.RebootPolicyList
	if err := r.Client.List(ctx, &list, client.MatchingLabelsSelector{
		Selector: labels.SelectorFromSet(labels.Set{autorebootv1.ClusterPolicyLabel: of.Name}),
	}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	made := map[string]*autorebootv1.RebootPolicy{}
	for i := range list.Items {
		if p := &list.Items[i]; p.Name == of.Name && (metav1.IsControlledBy(p, of) || isRestored(p, of)) {
			made[p.Namespace] = p
		}
	}
	return made, nil
}
