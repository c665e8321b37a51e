// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"net/netip"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/test/externalnet"
)

func TestEveryAddressIsItsOwnAndStandsForOneOfLoopback(t *testing.T) {
	seen := make(map[netip.Addr]bool, addresses)
	for object := range addresses / PerObject {
		for _, ip := range Own(object) {
			local, err := externalnet.Local(ip)
			if err != nil || seen[local] {
				t.Fatalf("%s of object %d: %s, %v", ip, object, local, err)
			}
			seen[local] = true
		}
	}
}

func slice(ready map[string]*bool) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{}
	for ip, is := range ready {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}, Conditions: discoveryv1.EndpointConditions{Ready: is}})
	}
	return s
}

func TestTheBoardShowsWhenEachAddressBecameWhatItIs(t *testing.T) {
	b, yes, no := newBoard(), ptr.To(true), ptr.To(false)
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	b.show(slice(map[string]*bool{"198.18.0.1": no, "198.18.0.2": nil}), at(1))
	b.show(slice(map[string]*bool{"198.18.0.1": no, "198.18.0.2": nil}), at(2)) // nothing new
	if got := b.lists(2); got != at(1) {
		t.Errorf("both are listed since %v", got)
	}
	if got := b.serves(2); !got.IsZero() {
		t.Errorf("both are ready since %v, one is not", got)
	}
	b.show(slice(map[string]*bool{"198.18.0.1": yes, "198.18.0.2": nil}), at(3))
	b.show(slice(map[string]*bool{"198.18.0.1": yes, "198.18.0.2": no}), at(4))
	b.show(slice(map[string]*bool{"198.18.0.1": yes, "198.18.0.2": yes}), at(5))
	if got := b.serves(2); got != at(3) {
		t.Errorf("both were first ready at %v, want the third second", got)
	}
	ready, since := b.of(netip.MustParseAddr("198.18.0.2"))
	if !ready || since != at(5) {
		t.Errorf("ready %v since %v", ready, since)
	}
}

func TestMoreObjectsThanThereAreAddressesForAreRefused(t *testing.T) {
	for _, objects := range []int{-1, addresses} {
		if _, err := Run(t.Context(), Options{Objects: objects}); err == nil {
			t.Errorf("%d objects were measured", objects)
		}
	}
}
