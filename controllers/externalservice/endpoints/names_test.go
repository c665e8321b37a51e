// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"slices"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// epoch is the time at which tests happen.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestHowLongANameHasResolvedAsFarAsIsKnown(t *testing.T) {
	day := &metav1.Time{Time: epoch.Add(-24 * time.Hour)}
	for name, test := range map[string]struct {
		status networkingv1.EndpointStatus
		want   time.Time
	}{
		"until now, where it had not failed":       {networkingv1.EndpointStatus{ResolvedTime: day, Reason: networkingv1.ReasonResolved}, epoch},
		"until it failed":                          {networkingv1.EndpointStatus{ResolvedTime: day, Reason: networkingv1.ReasonStale}, day.Time},
		"until now, where the clock was ahead":     {networkingv1.EndpointStatus{ResolvedTime: &metav1.Time{Time: epoch.Add(time.Hour)}, Reason: networkingv1.ReasonStale}, epoch},
		"never, where it is kept for what it took": {networkingv1.EndpointStatus{Reason: networkingv1.ReasonStale}, time.Time{}},
	} {
		if got := resolvedTime(&test.status, epoch); !got.Equal(test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// A process that ends between its write of the slices and that of the status leaves more in the slices.
func TestWhatSlicesHaveMoreThanTheStatusIsOfAName(t *testing.T) {
	for name, test := range map[string]struct {
		change func(es *networkingv1.ExternalService)
		want   []string // of the name
		isOld  bool     // whether it has resolved
	}{
		"the status is older than the slices": {func(*networkingv1.ExternalService) {}, []string{"192.0.2.1", "192.0.2.2"}, true},
		"the spec is newer than both":         {func(es *networkingv1.ExternalService) { es.Generation++ }, []string{"192.0.2.1"}, true},
		"the other endpoint is gone": {func(es *networkingv1.ExternalService) {
			es.Spec.Endpoints = es.Spec.Endpoints[:1]
		}, []string{"192.0.2.1", "192.0.2.2"}, true},
		"the status is lost": {func(es *networkingv1.ExternalService) {
			es.Status = networkingv1.ExternalServiceStatus{}
		}, []string{"192.0.2.1", "192.0.2.2"}, true},
		"the name is another": {func(es *networkingv1.ExternalService) {
			es.Generation++
			es.Spec.Endpoints[0].DNS.Name = "other.example.com"
		}, []string{"192.0.2.1", "192.0.2.2"}, false},
	} {
		es := &networkingv1.ExternalService{}
		es.Generation = 1
		es.Spec.Endpoints = []networkingv1.Endpoint{
			{Name: "a", DNS: &networkingv1.DNSName{Name: "db.example.com", RecordType: new(networkingv1.RecordAddress)}, State: new(networkingv1.EndpointActive), Priority: new(int32(0))},
			{Name: "b", Addresses: []networkingv1.IPAddress{"192.0.2.9"}, State: new(networkingv1.EndpointActive), Priority: new(int32(0))},
		}
		es.Status.ObservedGeneration = 1
		es.Status.Endpoints = []networkingv1.EndpointStatus{
			{Name: "a", DNSName: "db.example.com", Reason: networkingv1.ReasonResolved, ResolvedTime: &metav1.Time{Time: epoch}, Addresses: []networkingv1.AddressStatus{{IP: "192.0.2.1"}}},
			{Name: "b", Addresses: []networkingv1.AddressStatus{{IP: "192.0.2.9"}}},
		}
		test.change(es)
		slice := &discoveryv1.EndpointSlice{}
		for _, ip := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.9"} {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}})
		}
		seed := Seeds(es, []*discoveryv1.EndpointSlice{slice}, epoch)["a"]
		var got []string
		for _, a := range seed.addresses {
			got = append(got, a.IP.String())
		}
		if slices.Sort(got); !slices.Equal(got, test.want) || seed.resolved.IsZero() == test.isOld {
			t.Errorf("%s: the name begins with %q, resolved at %s", name, got, seed.resolved)
		}
	}
}
