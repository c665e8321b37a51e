// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

func TestWhatIsDeniedGoesThoughNothingElseIsChanged(t *testing.T) {
	type object = networkingv1.ExternalService
	for name, tc := range map[string]struct {
		rest func(*object)
		deny map[string]egress.Reason
		want string
	}{
		"suspended, one denied": {func(es *object) { es.Spec.Suspend = ptr.To(true) }, fakePolicy{"192.0.2.2": egress.ReasonDeniedByPolicy}, "192.0.2.1+"},
		"suspended, all denied": {func(es *object) { es.Spec.Suspend = ptr.To(true) }, fakePolicy{"192.0.2.1": egress.ReasonNode, "192.0.2.2": egress.ReasonDeniedByPolicy}, ""},
		"suspended and edited": {func(es *object) {
			es.Spec.Suspend = ptr.To(true)
			es.Spec.Endpoints[0].Addresses = []networkingv1.IPAddress{"192.0.2.9"}
		}, fakePolicy{"192.0.2.2": egress.ReasonDeniedByPolicy}, "192.0.2.1+"},
		"a spec that is invalid": {func(es *object) { es.Spec.Ports[0].AppProtocol = new("not valid") }, fakePolicy{"192.0.2.2": egress.ReasonDeniedByPolicy}, "192.0.2.1+"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, plain)
			s.reconcileOnce()
			s.wantPublished("192.0.2.1+ 192.0.2.2+")
			s.edit(tc.rest)
			s.reconcileOnce()
			s.wantPublished("192.0.2.1+ 192.0.2.2+")
			clear(s.policy)
			for ip, reason := range tc.deny {
				s.policy[ip] = reason
			}
			s.reconcileOnce()
			s.wantPublished(tc.want)
			s.wantCondition("Ready", "False "+networkingv1.ReasonPolicyDenied)
			s.wantCondition("Stalled", "True "+networkingv1.ReasonPolicyDenied)
			s.reconcileUnchanged("without what is denied")

			for ip := range tc.deny {
				s.policy[ip] = egress.ReasonUnsynced
			}
			s.reconcileOnce()
			s.wantPublished(tc.want)
			clear(s.policy)
			s.reconcileOnce()
			s.wantPublished(tc.want) // nothing is added
			if tc.want != "" && s.object().Spec.Ports[0].AppProtocol == nil {
				s.wantCondition("Ready", string(metav1.ConditionUnknown)+" "+networkingv1.ReasonSuspended)
			}
		})
	}
}

func TestTheControllerRemembersSuspendedObjects(t *testing.T) {
	s := newSuite(t, plain)
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) })
	s.reconcileOnce()
	if keys := s.states.Keys(); len(keys) != 1 || keys[0] != objectKey {
		t.Errorf("a change of the policy would reach %v, want %s", keys, objectKey)
	}
}

func TestSuspendFreezesAndResumesWithoutAFlash(t *testing.T) {
	s := newSuite(t, tiered)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("b", "198.51.100.1", down)
	s.reconcileOnce()
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) })
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	if s.health.targets != nil || s.names.set != nil {
		t.Error("a suspended object is looked up or checked")
	}
	s.reconcileUnchanged("suspended")
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(false) })
	s.writes = nil
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	if len(s.writes) != 1 { // the status, for the generation
		t.Errorf("wrote %q", s.writes)
	}
}

func TestASuspendedObjectTellsWhetherItsSpecIsPublished(t *testing.T) {
	s := newSuite(t, plain)
	suspend := func(on bool) func(*networkingv1.ExternalService) {
		return func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(on) }
	}
	move := func(es *networkingv1.ExternalService) {
		es.Spec.Endpoints[0].Addresses = []networkingv1.IPAddress{"192.0.2.77"}
	}
	says := func(step string, status metav1.ConditionStatus, reason string, suspended bool) {
		t.Helper()
		s.reconcileOnce()
		es := s.object()
		ready := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionReady)
		if ready == nil || ready.Status != status || ready.Reason != reason || ready.ObservedGeneration != es.Generation || es.Status.ObservedGeneration != es.Generation {
			t.Errorf("%s: Ready is %+v at generation %d, observed %d; want %s %s", step, ready, es.Generation, es.Status.ObservedGeneration, status, reason)
		}
		if meta.IsStatusConditionTrue(es.Status.Conditions, networkingv1.ConditionSuspended) != suspended {
			t.Errorf("%s: Suspended is not %t: %+v", step, suspended, es.Status.Conditions)
		}
	}
	says("published", metav1.ConditionTrue, networkingv1.ReasonPublished, false)
	s.edit(suspend(true))
	says("suspended alone", metav1.ConditionTrue, networkingv1.ReasonSuspended, true)
	s.wantCondition("Waiting", "False NothingPending")
	s.reconcileUnchanged("suspended")
	s.edit(move)
	says("edited while suspended", metav1.ConditionUnknown, networkingv1.ReasonSuspended, true)
	s.reconcileUnchanged("edited while suspended")
	s.wantCondition("Waiting", "True Suspended")
	s.wantPublished("192.0.2.1+ 192.0.2.2+")
	s.edit(suspend(false))
	says("resumed", metav1.ConditionTrue, networkingv1.ReasonPublished, false)
	s.edit(func(es *networkingv1.ExternalService) {
		suspend(true)(es)
		es.Spec.Endpoints[0].Addresses = []networkingv1.IPAddress{"192.0.2.78"}
	})
	says("suspended and edited at once", metav1.ConditionUnknown, networkingv1.ReasonSuspended, true)
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Ports[0].AppProtocol = new("not valid") })
	says("invalid", metav1.ConditionFalse, networkingv1.ReasonInvalidSpec, true)
	s.edit(func(es *networkingv1.ExternalService) {
		es.Spec.Ports = []networkingv1.ServicePort{{Name: "sql", Port: 5432}}
		move(es)
	})
	says("valid again", metav1.ConditionUnknown, networkingv1.ReasonSuspended, true)
	if meta.FindStatusCondition(s.object().Status.Conditions, networkingv1.ConditionStalled) != nil {
		t.Error("valid again, and still Stalled")
	}
}

func TestEachConditionOfASuspendedObjectIsOfItsGeneration(t *testing.T) {
	s := newSuite(t, tiered)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", down)
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	expectCurrent := func(step string, healthy metav1.ConditionStatus) {
		t.Helper()
		s.reconcileOnce()
		es := s.object()
		for _, c := range es.Status.Conditions {
			if c.ObservedGeneration != es.Generation {
				t.Errorf("%s: %s is of generation %d, not %d", step, c.Type, c.ObservedGeneration, es.Generation)
			}
		}
		if c := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionHealthy); c == nil || c.Status != healthy {
			t.Errorf("%s: Healthy is %+v, want %s", step, c, healthy)
		}
		if !meta.IsStatusConditionTrue(es.Status.Conditions, networkingv1.ConditionFailedOver) {
			t.Errorf("%s: not FailedOver any more, though the same is published", step)
		}
		s.reconcileUnchanged(step)
	}
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) })
	expectCurrent("suspended", metav1.ConditionTrue)
	s.edit(func(es *networkingv1.ExternalService) {
		es.Spec.Endpoints[0].Addresses = []networkingv1.IPAddress{"192.0.2.77"}
	})
	expectCurrent("edited while suspended", metav1.ConditionUnknown)
}

func TestANewbornThatIsSuspendedSaysSo(t *testing.T) {
	s := newSuite(t, plain)
	s.edit(func(es *networkingv1.ExternalService) {
		es.Spec.Suspend = ptr.To(true)
		es.Status.ObservedGeneration = -1
	})
	s.reconcileOnce()
	status := s.object().Status
	if got := meta.FindStatusCondition(status.Conditions, networkingv1.ConditionReady); got == nil || got.Status != metav1.ConditionUnknown ||
		got.Reason != networkingv1.ReasonSuspended || !meta.IsStatusConditionTrue(status.Conditions, networkingv1.ConditionSuspended) ||
		status.ObservedGeneration != s.object().Generation {
		t.Errorf("status %+v", status)
	}
}

func TestAnEditOfAddressesIsAnEventOnceItIsPublished(t *testing.T) {
	s := newSuite(t, plain)
	s.reconcileOnce()
	s.wantEvents("Published")
	s.edit(func(es *networkingv1.ExternalService) {
		es.Spec.Endpoints[0].Addresses = []networkingv1.IPAddress{"192.0.2.9"}
	})
	s.reconcileOnce()
	s.wantPublished("192.0.2.9+")
	s.wantEvents("AddressesChanged")

	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) })
	s.reconcileOnce()
	s.wantEvents()
	s.edit(func(es *networkingv1.ExternalService) {
		es.Spec.Endpoints[0].Addresses = []networkingv1.IPAddress{"192.0.2.8"}
	})
	s.reconcileOnce()
	s.wantPublished("192.0.2.9+")
	s.wantEvents("Suspended")
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = nil })
	s.reconcileOnce()
	s.wantPublished("192.0.2.8+")
	s.wantEvents("Published", "AddressesChanged")
}
