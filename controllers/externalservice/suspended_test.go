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
		"suspended, one denied": {func(es *object) { es.Spec.Suspend = ptr.To(true) }, somePolicy{"192.0.2.2": egress.ReasonDeniedByPolicy}, "192.0.2.1+"},
		"suspended, all denied": {func(es *object) { es.Spec.Suspend = ptr.To(true) }, somePolicy{"192.0.2.1": egress.ReasonNode, "192.0.2.2": egress.ReasonDeniedByPolicy}, ""},
		"suspended and edited": {func(es *object) {
			es.Spec.Suspend = ptr.To(true)
			es.Spec.Endpoints[0].Addresses = []networkingv1.IPAddress{"192.0.2.9"}
		}, somePolicy{"192.0.2.2": egress.ReasonDeniedByPolicy}, "192.0.2.1+"},
		"a spec that is invalid": {func(es *object) { es.Spec.Ports = nil }, somePolicy{"192.0.2.2": egress.ReasonDeniedByPolicy}, "192.0.2.1+"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, plain)
			s.reconciles()
			s.publishes("192.0.2.1+ 192.0.2.2+")
			s.edit(tc.rest)
			s.reconciles()
			s.publishes("192.0.2.1+ 192.0.2.2+")
			clear(s.policy)
			for ip, reason := range tc.deny {
				s.policy[ip] = reason
			}
			s.reconciles()
			s.publishes(tc.want)
			s.says("Ready", "False "+networkingv1.ReasonPolicyDenied)
			s.says("Stalled", "True "+networkingv1.ReasonPolicyDenied)
			s.quiet("without what is denied")

			for ip := range tc.deny {
				s.policy[ip] = egress.ReasonUnsynced
			}
			s.reconciles()
			s.publishes(tc.want)
			clear(s.policy)
			s.reconciles()
			s.publishes(tc.want) // nothing is added
			if tc.want != "" && s.object().Spec.Ports != nil {
				s.says("Ready", string(metav1.ConditionUnknown)+" "+networkingv1.ReasonSuspended)
			}
		})
	}
}

func TestTheControllerRemembersSuspendedObjects(t *testing.T) {
	s := newStand(t, plain)
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) })
	s.reconciles()
	if keys := s.memories.keys(); len(keys) != 1 || keys[0] != objectKey {
		t.Errorf("a change of the policy would reach %v, want %s", keys, objectKey)
	}
}
