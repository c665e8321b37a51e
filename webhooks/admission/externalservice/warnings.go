// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// maxPodAddresses is how many addresses of pods one writer is warned of.
const maxPodAddresses = 5

// podAddresses warns of addresses of pods outside of the ranges that are known to be the cluster's: nothing
// else finds out that those are incomplete. It does not name the pods: the writer need not be entitled to see
// them.
func (w *webhook) podAddresses(ctx context.Context, obj *networkingv1.ExternalService) []string {
	unknown := map[string]egress.Static{}
	for _, static := range egress.StaticAddresses(&obj.Spec) {
		if static.IP.IsValid() && !w.options.Policy.IsInCluster(static.IP) {
			unknown[static.IP.String()] = static
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	var pods corev1.PodList
	if !w.options.Warnings.ListCluster(ctx, "", &corev1.Pod{}, &pods) {
		return nil
	}
	var warnings []string
	for i := range pods.Items {
		static, found := unknown[pods.Items[i].Status.PodIP]
		if !found {
			continue
		}
		delete(unknown, pods.Items[i].Status.PodIP)
		warnings = append(warnings, fmt.Sprintf("spec.endpoints[%d].addresses[%d]: %s is the address of a pod of this cluster, and lies outside of the ranges that Fairlead knows to be the cluster's; "+
			"have an administrator add the ranges of pods to egress.clusterCIDRs of the operator's configuration", static.Endpoint, static.Address, static.IP))
		if len(warnings) == maxPodAddresses {
			break
		}
	}
	return warnings
}
