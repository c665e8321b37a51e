// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	authorizationv1 "k8s.io/api/authorization/v1"
	netv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
)

// IsolationReader reads which pods a NetworkPolicy would isolate.
type IsolationReader interface {
	// Pods returns the labels of selected pods, and whether there are more than these.
	Pods(ctx context.Context, namespace string, selector labels.Selector) (pods []labels.Set, more bool, err error)
	// NetworkPolicies returns the NetworkPolicies of a namespace.
	NetworkPolicies(ctx context.Context, namespace string) ([]netv1.NetworkPolicy, error)
}

// maxPods bounds the pods that are read for a warning.
const maxPods = 500

type isolationReader struct{ client kubernetes.Interface }

// NewIsolationReader returns a reader of the API server.
func NewIsolationReader(client kubernetes.Interface) IsolationReader { return isolationReader{client} }

// Pods reads the metadata of pods alone.
func (r isolationReader) Pods(ctx context.Context, namespace string, selector labels.Selector) ([]labels.Set, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	data, err := r.client.CoreV1().RESTClient().Get().Namespace(namespace).Resource("pods").
		SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").
		Param("labelSelector", selector.String()).Param("limit", strconv.Itoa(maxPods)).DoRaw(ctx)
	if err != nil {
		return nil, false, err
	}
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, false, err
	}
	pods := make([]labels.Set, 0, len(list.Items))
	for i := range list.Items {
		pods = append(pods, list.Items[i].Labels)
	}
	return pods, list.Continue != "", nil
}

func (r isolationReader) NetworkPolicies(ctx context.Context, namespace string) ([]netv1.NetworkPolicy, error) {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	list, err := r.client.NetworkingV1().NetworkPolicies(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// networkPolicy requires the rights to what the operator does with the NetworkPolicy, where this write decides about that.
// It warns of the pods that lose all other egress.
func (a *authorizer) networkPolicy(
	ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService,
) ([]string, field.ErrorList) {
	if !allowsOtherwise(obj, old) {
		return nil, nil
	}
	path, name := field.NewPath("spec", "networkPolicy"), rules.NetworkPolicyName(obj.Name)
	var errs field.ErrorList
	for _, verb := range []string{"create", "update", "delete"} {
		right := authorizationv1.ResourceAttributes{
			Namespace: req.Namespace, Verb: verb, Group: netv1.GroupName, Version: "v1", Resource: "networkpolicies", Name: name,
		}
		what := fmt.Sprintf("the NetworkPolicy %q", name)
		if verb == "create" || obj.Name == "" {
			right.Name, what = "", "networkpolicies."+netv1.GroupName
		}
		errs = append(errs, a.require(ctx, req, path, right, fmt.Sprintf(
			"%s %s in namespace %q, which the operator would do; ask for that right, or leave networkPolicy as it is", verb, what, req.Namespace))...)
	}
	isAsBefore := old != nil && equality.Semantic.DeepEqual(obj.Spec.NetworkPolicy, old.Spec.NetworkPolicy)
	if len(errs) > 0 || obj.Spec.NetworkPolicy == nil || isAsBefore {
		return nil, errs
	}
	return a.isolated(ctx, req.Namespace, name, obj.Spec.NetworkPolicy), nil
}

// isolated warns of the pods that lose all other egress: those that no other NetworkPolicy selects for egress.
func (a *authorizer) isolated(ctx context.Context, namespace, name string, of *networkingv1.NetworkPolicyTemplate) []string {
	loses := "lose"
	if ptr.Deref(of.DryRun, false) {
		loses = "would lose"
	}
	warn := func(which string) []string {
		return []string{fmt.Sprintf("spec.networkPolicy.podSelector: %s %s all egress except to the addresses of this object and DNS", which, loses)}
	}
	selector, err := of.PodSelector.Selector()
	if err != nil {
		return nil // the rules refuse it
	}
	pods, more, err := a.isolation.Pods(ctx, namespace, selector)
	if err != nil {
		return warn("the selected pods, which could not be counted (" + err.Error() + "),")
	}
	others, err := a.isolation.NetworkPolicies(ctx, namespace)
	if err != nil {
		return warn("the selected pods, whose other NetworkPolicies could not be read (" + err.Error() + "),")
	}
	selected := len(pods)
	for i := range others {
		if p := &others[i]; p.Name != name && slices.Contains(p.Spec.PolicyTypes, netv1.PolicyTypeEgress) {
			if limits, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector); err == nil {
				pods = slices.DeleteFunc(pods, func(pod labels.Set) bool { return limits.Matches(pod) })
			}
		}
	}
	switch {
	case len(pods) == 0 && !more:
		return nil
	case more:
		return warn(fmt.Sprintf("at least %d pods", len(pods)))
	}
	return warn(fmt.Sprintf("%d of %d selected pods, which no other NetworkPolicy limits,", len(pods), selected))
}

// allowsOtherwise reports whether the NetworkPolicy of obj is to be created, changed or deleted for this write: what it
// selects or allows differs from that of old. Other fields, such as the state of an endpoint, make no difference.
func allowsOtherwise(obj, old *networkingv1.ExternalService) bool {
	switch {
	case old == nil:
		return obj.Spec.NetworkPolicy != nil
	case obj.Spec.NetworkPolicy == nil && old.Spec.NetworkPolicy == nil:
		return false
	}
	return resumed(obj, old) || !equality.Semantic.DeepEqual(allowedBy(obj), allowedBy(old))
}

// allowedBy returns what of a spec the NetworkPolicy depends on.
func allowedBy(es *networkingv1.ExternalService) any {
	var peers []any
	for i := range es.Spec.Endpoints {
		e := &es.Spec.Endpoints[i]
		peers = append(peers, e.DNS, e.Addresses, e.Ports)
	}
	return []any{es.Spec.NetworkPolicy, es.Spec.Ports, peers}
}
