// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"slices"

	netv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// NetworkPolicy is a kind whose objects are read only for ExternalServices that are to have one.
const NetworkPolicy = "NetworkPolicy"

var networkPolicies = kind{
	Kind: NetworkPolicy, resource: "networkpolicies", group: netv1.SchemeGroupVersion,
	object:   func() client.Object { return &netv1.NetworkPolicy{} },
	list:     func() client.ObjectList { return &netv1.NetworkPolicyList{} },
	selector: labels.SelectorFromSet(labels.Set{common.ManagedByLabel: common.ManagedBy}),
}

// readNetworkPolicies adds the NetworkPolicies of the ExternalServices.
func (s *Snapshot) readNetworkPolicies(ctx context.Context, from client.Reader, namespace string) {
	s.hasNetworkPolicies = slices.ContainsFunc(s.Objects, func(o client.Object) bool {
		service, is := o.(*networkingv1.ExternalService)
		return is && service.Spec.NetworkPolicy != nil
	})
	if !s.hasNetworkPolicies {
		return
	}
	if _, err := list(ctx, from, networkPolicies, namespace, func(o client.Object) { s.Objects = append(s.Objects, o) }); err != nil {
		s.Unread = append(s.Unread, unreadOf(networkPolicies, err, "list", namespace))
	}
}

// limits describes the pods that a NetworkPolicy selects, and its rules.
func limits(policy *netv1.NetworkPolicy) string {
	to := map[string]bool{}
	for _, rule := range policy.Spec.Egress {
		for _, peer := range rule.To {
			if peer.IPBlock != nil {
				to[peer.IPBlock.CIDR] = true
			}
		}
	}
	selector := metav1.FormatLabelSelector(&policy.Spec.PodSelector)
	if selector == "<none>" {
		selector = "all pods of the namespace"
	}
	return fmt.Sprintf("it selects %s, and allows DNS and %d addresses", selector, len(to))
}
