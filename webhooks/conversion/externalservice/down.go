// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/check"
)

// down returns the view at v1alpha1. Durations of a probe are rounded up to whole seconds; refreshSeconds is
// shown only where it would be exact.
func down(h hub) spoke {
	var s spoke
	s.Spec.Hosts = hosts(h.Spec.Endpoints)
	for _, port := range h.Spec.Ports {
		if s.Spec.Ports == nil {
			s.Spec.Ports = make(map[string]v1alpha1.PortNumber, len(h.Spec.Ports))
		}
		s.Spec.Ports[port.Name] = v1alpha1.PortNumber(port.Port)
	}
	s.Spec.RefreshSeconds = refresh(h.Spec.Resolution)
	if c := h.Spec.HealthCheck; c != nil {
		s.Spec.Probe = &v1alpha1.Probe{Probe: check.Down(&c.Check), TCPSocket: c.TCPSocket}
	}
	s.Status = downStatus(&h.Status)
	return s
}

// hosts lists the hosts in the order of failover.
func hosts(endpoints []v1.Endpoint) []string {
	count := 0
	for i := range endpoints {
		count += len(endpoints[i].Addresses)
		if endpoints[i].DNS != nil {
			count++
		}
	}
	if count == 0 {
		return nil
	}
	list := make([]string, 0, count)
	for _, host := range byPriority(endpoints) {
		list = append(list, host)
	}
	return list
}

// byPriority ranges over the hosts in the order of failover, each with the index of its endpoint.
func byPriority(endpoints []v1.Endpoint) iter.Seq2[int, string] {
	return func(yield func(endpoint int, host string) bool) {
		if ordered(endpoints) {
			for i := range endpoints {
				if !yieldHosts(endpoints, i, yield) {
					return
				}
			}
			return
		}
		for _, i := range failover(endpoints) {
			if !yieldHosts(endpoints, i, yield) {
				return
			}
		}
	}
}

// yieldHosts yields the hosts of one endpoint.
func yieldHosts(endpoints []v1.Endpoint, i int, yield func(endpoint int, host string) bool) bool {
	if name := endpoints[i].DNS; name != nil && !yield(i, name.Name) {
		return false
	}
	for _, address := range endpoints[i].Addresses {
		if !yield(i, string(address)) {
			return false
		}
	}
	return true
}

// ordered reports whether the endpoints are in the order of failover, as they nearly always are.
func ordered(endpoints []v1.Endpoint) bool {
	for i := 1; i < len(endpoints); i++ {
		if priority(&endpoints[i]) < priority(&endpoints[i-1]) {
			return false
		}
	}
	return true
}

// failover returns the indices of the endpoints in the order of their priorities.
func failover(endpoints []v1.Endpoint) []int {
	order := make([]int, len(endpoints))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(priority(&endpoints[a]), priority(&endpoints[b])) })
	return order
}

func priority(e *v1.Endpoint) int32 { return ptr.Deref(e.Priority, 0) }

func refresh(r *v1.Resolution) *int32 {
	if r == nil || r.MinTTL == nil || r.MaxTTL == nil {
		return nil
	}
	least, errLeast := r.MinTTL.Parse()
	most, errMost := r.MaxTTL.Parse()
	n := int64(least / time.Second)
	if errLeast != nil || errMost != nil || least != most || least%time.Second != 0 || int64(int32(n)) != n {
		return nil
	}
	return ptr.To(int32(n))
}

func downStatus(status *v1.ExternalServiceStatus) v1alpha1.ExternalServiceStatus {
	out := v1alpha1.ExternalServiceStatus{ObservedGeneration: status.ObservedGeneration, Conditions: status.Conditions}
	count := 0
	for i := range status.Endpoints {
		count += len(status.Endpoints[i].Addresses)
	}
	if count > 0 {
		out.Addresses = make([]string, 0, count)
	}
	for i := range status.Endpoints {
		endpoint := &status.Endpoints[i]
		for _, address := range endpoint.Addresses {
			out.Addresses = append(out.Addresses, address.IP)
		}
		if t := endpoint.ResolvedTime; t != nil && (out.LastResolved == nil || out.LastResolved.Before(t)) {
			out.LastResolved = t
		}
	}
	if condition := meta.FindStatusCondition(status.Conditions, v1.ConditionHealthy); condition != nil &&
		condition.Status != metav1.ConditionUnknown {
		out.Healthy = ptr.To(condition.Status == metav1.ConditionTrue)
	}
	return out
}
