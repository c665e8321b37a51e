// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// maxPodAddresses is how many addresses of pods one write is warned of.
const maxPodAddresses = 5

// podAddresses warns of addresses of pods that lie outside of the ranges which are known to be the
// cluster's: nothing else finds out that those are incomplete. It says nothing where the pods are not
// cached, as in a replica that only serves webhooks.
type podAddresses struct {
	informers atomic.Pointer[cache.Cache] // nil until the caches are there
	known     func(netip.Addr) bool       // says whether an address is known to be the cluster's
}

// open lets it read from now on.
func (p *podAddresses) open(informers cache.Cache) { p.informers.Store(&informers) }

// ofExternalService looks for the static addresses of an object among the pods. It does not say whose
// they are: the writer need not be entitled to see pods.
func (p *podAddresses) ofExternalService(ctx context.Context, obj *networkingv1.ExternalService) []string {
	informers := p.informers.Load()
	if informers == nil {
		return nil
	}
	wanted := map[string]egress.Static{}
	for _, static := range egress.StaticAddresses(&obj.Spec) {
		if static.IP.IsValid() && !p.known(static.IP) {
			wanted[static.IP.String()] = static
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	var pods corev1.PodList
	if !listed(ctx, *informers, "", &corev1.Pod{}, &pods) {
		return nil
	}
	var warnings []string
	for i := range pods.Items {
		static, found := wanted[pods.Items[i].Status.PodIP]
		if !found {
			continue
		}
		delete(wanted, pods.Items[i].Status.PodIP)
		warnings = append(warnings, fmt.Sprintf("spec.endpoints[%d].addresses[%d]: %s is the address of a pod of this cluster, and lies outside of the ranges that Fairlead knows to be the cluster's; "+
			"have an administrator add the ranges of pods to egress.clusterCIDRs of the operator's configuration", static.Endpoint, static.Address, static.IP))
		if len(warnings) == maxPodAddresses {
			break
		}
	}
	return warnings
}
