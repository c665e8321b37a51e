// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"

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
		"a spec that is invalid": {func(es *object) { es.Spec.Ports = nil }, fakePolicy{"192.0.2.2": egress.ReasonDeniedByPolicy}, "192.0.2.1+"},
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
			if tc.want != "" && s.object().Spec.Ports != nil {
				s.wantCondition("Ready", string(metav1.ConditionUnknown)+" "+networkingv1.ReasonSuspended)
			}
		})
	}
}

func TestTheControllerRemembersSuspendedObjects(t *testing.T) {
	s := newSuite(t, plain)
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) })
	s.reconcileOnce()
	if keys := s.states.keys(); len(keys) != 1 || keys[0] != objectKey {
		t.Errorf("a change of the policy would reach %v, want %s", keys, objectKey)
	}
}
