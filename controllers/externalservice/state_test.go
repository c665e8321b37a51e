// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"errors"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

func TestASliceThatTheCacheDoesNotShowYetIsNotWrittenAgain(t *testing.T) {
	m := &objectState{}
	m.recordWrite("a", "20", epoch)
	m.recordWrite("b", "", epoch)
	cached := func(name, version string) *discoveryv1.EndpointSlice {
		slice := &discoveryv1.EndpointSlice{}
		slice.Name, slice.ResourceVersion = name, version
		return slice
	}
	old := []*discoveryv1.EndpointSlice{cached("a", "9"), cached("b", "3")}
	if !m.cacheStale(old, nil, epoch) {
		t.Error("an old copy is taken for the present one")
	}
	if !m.cacheStale([]*discoveryv1.EndpointSlice{cached("a", "20"), cached("b", "3")}, nil, epoch) {
		t.Error("a slice that was removed is still shown")
	}
	if m.cacheStale([]*discoveryv1.EndpointSlice{cached("a", "20")}, nil, epoch) || len(m.writes) > 0 {
		t.Errorf("the cache has caught up, and %v is still waited for", m.writes)
	}
	m.recordWrite("a", "30", epoch)
	if m.cacheStale(old, nil, epoch.Add(controller.StaleTimeout)) {
		t.Error("a cache is waited for that may never show the write")
	}
}

func TestNothingIsDecidedByACacheThatIsBehind(t *testing.T) {
	s := newSuite(t, plain)
	s.reconcileOnce()
	m := s.states.Get(s.object())
	m.recordWrite("another", "1000000", s.now)
	s.edit(func(es *networkingv1.ExternalService) {
		es.Spec.Endpoints[0].Addresses = []networkingv1.IPAddress{"192.0.2.7"}
	})
	if again := s.reconcileUnchanged("the cache is behind").RequeueAfter; again != controller.StaleRetry {
		t.Errorf("looks again after %s", again)
	}
	s.advance(controller.StaleTimeout)
	s.reconcileOnce()
	s.wantPublished("192.0.2.7+")
}

func TestAStatusThatTheCacheDoesNotShowYetIsNotBuiltUpon(t *testing.T) {
	s := newSuite(t, plain)
	s.reconcileOnce()
	before := s.object()
	s.edit(func(es *networkingv1.ExternalService) {
		es.Spec.Endpoints[0].Addresses = []networkingv1.IPAddress{"192.0.2.7"}
	})
	s.reconcileOnce()
	update := newStatusUpdate(before, s.now)
	s.writes = nil
	if err := s.writeStatus(t.Context(), before, update); !errors.Is(err, controller.ErrStale) || len(s.writes) > 0 {
		t.Errorf("an old copy: %v, writes %q; want %v and none", err, s.writes, controller.ErrStale)
	}
	s.advance(controller.StaleTimeout)
	if err := s.writeStatus(t.Context(), before, update); err != nil {
		t.Errorf("a cache is waited for that may never show the write: %v", err)
	}
	present := s.object()
	if err := s.writeStatus(t.Context(), present, newStatusUpdate(present, s.now)); err != nil || len(s.writes) > 0 {
		t.Errorf("the present copy: %v, writes %q", err, s.writes)
	}
}
