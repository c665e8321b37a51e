// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

func TestASuspicionIsInheritedUntilSomethingIsChecked(t *testing.T) {
	checked := probe.Health{State: networkingv1.AddressHealthy, LastProbe: epoch}
	for name, test := range map[string]struct {
		reason string
		health []probe.Health
		want   bool
	}{
		"suspected, nothing checked":        {networkingv1.ReasonProbeSelfSuspect, []probe.Health{{}, {}}, true},
		"suspected, one checked":            {networkingv1.ReasonProbeSelfSuspect, []probe.Health{{}, checked}, false},
		"suspected, and no address":         {networkingv1.ReasonProbeSelfSuspect, nil, true},
		"something else, nothing checked":   {networkingv1.ReasonUnknown, []probe.Health{{}}, false},
		"no condition yet, nothing checked": {"", []probe.Health{{}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			es := &networkingv1.ExternalService{}
			if test.reason != "" {
				es.Status.Conditions = []metav1.Condition{{Type: networkingv1.ConditionHealthy, Reason: test.reason}}
			}
			one := resolvedEndpoint{Endpoint: &networkingv1.Endpoint{}}
			for _, health := range test.health {
				one.addresses = append(one.addresses, address{health: health})
			}
			if got := inheritsSuspicion(es, []resolvedEndpoint{one}); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}
