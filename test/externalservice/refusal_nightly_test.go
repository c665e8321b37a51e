// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// The right is missing in the whole cluster, which is therefore one of its own.
func TestAMissingRightStopsNothingElse(t *testing.T) {
	t.Parallel()
	common := newSuite(t)
	own := tests.OpenFor(t, framework.Options{Servers: common.Servers, Cluster: cluster.Options{WithoutControllerManager: true}})
	_, err := own.StartReplica(t.Context(), framework.Patient()...)
	common.Must(err)
	common.Must(own.Reachable(t.Context()))
	for _, write := range framework.Sample(framework.NewSampler(t), 1, operatorWrites) {
		t.Run(write.String(), func(t *testing.T) {
			s := &suite{framework.NewTest(t, own)}
			s.failsOverAlthoughRefused(refusalCase{"a missing right", write})
		})
	}
}

func TestAGameDayEndsAlthoughTheServiceIsRefused(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	s.MayBeRefusedIn(s.Namespace)
	addresses, _ := s.tcp(7000, 2)
	s.apply("db", priorities("", addresses[:1], addresses[1:]))
	s.healthy("db", addresses[0])
	s.injects("db", "BlackHole for=10m")
	s.publishes("db")
	s.condition("db", networkingv1.ConditionFaultInjected, metav1.ConditionTrue, "BlackHole")
	test := refusalCase{"a policy", operatorWrites[0]}
	allow := s.refuseByPolicy(test.write)
	s.Eventually(func() error { return s.isRefused(test) })
	s.apply("db", priorities(", service: {labels: {team: db}}", addresses[:1], addresses[1:]))
	s.tellsRefusal("db", test.refuser, false)
	s.publishes("db")
	s.Kubectl("annotate", "externalservice", "db", networkingv1.InjectFaultAnnotation+"-")
	s.ended("db", networkingv1.FaultOutcomeWithdrawn)
	s.publishes("db", addresses[0])
	allow()
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
}
