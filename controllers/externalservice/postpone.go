// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// postponeUntil is until when the slices, and the status that tells of them, are left as they are. Every
// node reads every write of a slice, so that of an object whose slices change all the time the changes
// are gathered: other addresses of a name, and addresses that are healthy again. A change of the spec,
// another priority, and an address that must not take traffic any more wait for nothing. It is zero
// where there is nothing to wait for.
func (m *objectState) postponeUntil(es *networkingv1.ExternalService, service *corev1.Service, current []*discoveryv1.EndpointSlice, wanted []desiredSlice, f *observation, d *decision, now time.Time) time.Time {
	due := m.sliceWriteRate.at.Add(writeDamping.delay(&m.sliceWriteRate, now))
	if !now.Before(due) || es.Status.ObservedGeneration != es.Generation || !ptr.Equal(d.active, m.active) || d.panicking != m.panicking {
		return time.Time{}
	}
	if sameSlices(service, current, wanted) || mustWriteNow(current, f, d) {
		return time.Time{}
	}
	return due
}

func sameSlices(service *corev1.Service, current []*discoveryv1.EndpointSlice, wanted []desiredSlice) bool {
	if len(current) != len(wanted) {
		return false
	}
	for i := range wanted {
		if c := findSlice(current, wanted[i].name); c == nil || !sliceMatches(c, service, &wanted[i]) {
			return false
		}
	}
	return true
}

// mustWriteNow reports whether an address takes traffic that is to take none, or nothing takes any.
func mustWriteNow(current []*discoveryv1.EndpointSlice, f *observation, d *decision) bool {
	ready := make(map[netip.Addr]bool, len(d.published))
	for i := range f.endpoints {
		for j := range f.endpoints[i].addresses {
			if a := &f.endpoints[i].addresses[j]; a.deniedReason != "" {
				ready[a.ip] = false
			}
		}
	}
	for _, p := range d.published {
		ready[p.ip] = ready[p.ip] || p.ready
	}
	takes := false
	for _, c := range current {
		for i := range c.Endpoints {
			if !ptr.Deref(c.Endpoints[i].Conditions.Ready, true) {
				continue
			}
			takes = true
			ip, err := netip.ParseAddr(c.Endpoints[i].Addresses[0])
			if stays, known := ready[ip]; err != nil || known && !stays {
				return true
			}
		}
	}
	return !takes
}

// onlyTextDiffers reports whether two statuses say the same to a client that waits for a condition: they differ in
// texts, counts and what is told of single addresses. Of an object whose status changes all the time,
// such changes are gathered.
func onlyTextDiffers(a, b *networkingv1.ExternalServiceStatus) bool {
	if a.ObservedGeneration != b.ObservedGeneration || a.ClusterIP != b.ClusterIP || a.LastHandledFailback != b.LastHandledFailback ||
		!ptr.Equal(a.ActivePriority, b.ActivePriority) || !ptr.Equal(a.ServiceRef, b.ServiceRef) ||
		!apiequality.Semantic.DeepEqual(a.Fault, b.Fault) || len(a.Conditions) != len(b.Conditions) {
		return false
	}
	for i := range a.Conditions {
		is, was := &b.Conditions[i], meta.FindStatusCondition(a.Conditions, b.Conditions[i].Type)
		if was == nil || was.Status != is.Status || was.Reason != is.Reason {
			return false
		}
	}
	return true
}
