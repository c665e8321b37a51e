// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/probe"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

func TestAnnotationsThatSaySomethingCauseAReconcile(t *testing.T) {
	for name, want := range map[string]bool{
		networkingv1.FailbackNowAnnotation: true, common.ApprovedByAnnotation: true, "example.com/other": false,
	} {
		before, after := &networkingv1.ExternalService{}, &networkingv1.ExternalService{}
		after.Annotations = map[string]string{name: "x"}
		if got := controller.AnnotationsChanged[*networkingv1.ExternalService](requestAnnotations()).Update(event.TypedUpdateEvent[*networkingv1.ExternalService]{ObjectOld: before, ObjectNew: after}); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestChecksAreWhatTheSpecSays(t *testing.T) {
	duration := func(text common.Duration) *common.Duration { return &text }
	for name, c := range map[string]struct {
		spec networkingv1.HealthCheck
		want probe.Check
	}{
		"without defaults": {
			networkingv1.HealthCheck{TCP: &networkingv1.TCPCheck{}},
			probe.Check{Kind: probe.KindTCP, Interval: 10 * time.Second, UnhealthyInterval: 30 * time.Second, Timeout: 2 * time.Second, JitterPercent: 10, HealthyThreshold: 2, UnhealthyThreshold: 3},
		},
		"http over TLS": {
			networkingv1.HealthCheck{
				HTTP:     &networkingv1.HTTPCheck{Path: ptr.To("/up"), Host: "db.example.com", ExpectedStatuses: []networkingv1.StatusRange{{Start: 200, End: 204}}},
				TLS:      &networkingv1.TLSCheck{ServerName: "db.example.com", InsecureSkipVerify: ptr.To(true)},
				Interval: duration("1s"), UnhealthyInterval: duration("5s"), JitterPercent: ptr.To[int32](0), HealthyThreshold: ptr.To[int32](1), UnhealthyThreshold: ptr.To[int32](1),
			},
			probe.Check{
				Kind: probe.KindHTTP, HTTP: probe.HTTP{Path: "/up", Host: "db.example.com", HTTPS: true, Statuses: [][2]int{{200, 204}}},
				TLS:      &probe.TLS{ServerName: "db.example.com", SkipVerify: true, RootPEM: []byte("roots")},
				Interval: time.Second, UnhealthyInterval: 5 * time.Second, Timeout: time.Second, HealthyThreshold: 1, UnhealthyThreshold: 1,
			},
		},
		"grpc": {
			networkingv1.HealthCheck{GRPC: &networkingv1.GRPCCheck{Service: "billing", Authority: "db.example.com"}},
			probe.Check{Kind: probe.KindGRPC, GRPC: probe.GRPC{Service: "billing", Authority: "db.example.com"}, Interval: 10 * time.Second, UnhealthyInterval: 30 * time.Second, Timeout: 2 * time.Second, JitterPercent: 10, HealthyThreshold: 2, UnhealthyThreshold: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			es := &networkingv1.ExternalService{Spec: networkingv1.ExternalServiceSpec{HealthCheck: &c.spec}}
			rules.Default(es)
			if diff := cmp.Diff(c.want, checkOf(es.Spec.HealthCheck, []byte("roots"))); diff != "" {
				t.Errorf("check (-want +got):\n%s", diff)
			}
		})
	}
}
