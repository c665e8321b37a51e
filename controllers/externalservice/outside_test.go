// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/controllers/internal/parts"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/probing"
)

func TestABellRingsOnceThereIsAQueue(t *testing.T) {
	b := &bell{}
	b.ring(objectKey) // nobody is there, and nothing is lost: the first reconcile reads all there is
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := b.source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	b.ring(objectKey)
	b.ring(objectKey)
	if queue.Len() != 1 {
		t.Errorf("%d requests are waiting, want 1", queue.Len())
	}
}

func TestWhenOnePartFailsAllEnd(t *testing.T) {
	broken := errors.New("broken")
	ended := false
	err := parts.Together(t.Context(), func(context.Context) error { return broken }, func(ctx context.Context) error {
		<-ctx.Done()
		ended = true
		return nil
	})
	if !errors.Is(err, broken) || !ended {
		t.Errorf("got %v, the other has ended: %t", err, ended)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := parts.Together(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }); err != nil {
		t.Errorf("a stop that was asked for: %v", err)
	}
}

func TestAnnotationsThatSaySomethingCauseAReconcile(t *testing.T) {
	for name, want := range map[string]bool{
		networkingv1.FailbackRequestedAnnotation: true, common.ApprovedByAnnotation: true, "somebody/else": false,
	} {
		before, after := &networkingv1.ExternalService{}, &networkingv1.ExternalService{}
		after.Annotations = map[string]string{name: "x"}
		if got := annotated().Update(event.TypedUpdateEvent[*networkingv1.ExternalService]{ObjectOld: before, ObjectNew: after}); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestChecksAreWhatTheSpecSays(t *testing.T) {
	duration := func(text common.Duration) *common.Duration { return &text }
	for name, c := range map[string]struct {
		spec networkingv1.HealthCheck
		want probing.Check
	}{
		"without defaults": {
			networkingv1.HealthCheck{TCP: &networkingv1.TCPCheck{}},
			probing.Check{Kind: probing.KindTCP, Interval: 10 * time.Second, UnhealthyInterval: 30 * time.Second, Timeout: 2 * time.Second, JitterPercent: 10, HealthyThreshold: 2, UnhealthyThreshold: 3},
		},
		"http over TLS": {
			networkingv1.HealthCheck{
				HTTP:     &networkingv1.HTTPCheck{Path: ptr.To("/up"), Host: "db.example.com", ExpectedStatuses: []networkingv1.StatusRange{{Start: 200, End: 204}}},
				TLS:      &networkingv1.TLSCheck{ServerName: "db.example.com", InsecureSkipVerify: ptr.To(true)},
				Interval: duration("1s"), UnhealthyInterval: duration("5s"), JitterPercent: ptr.To[int32](0), HealthyThreshold: ptr.To[int32](1), UnhealthyThreshold: ptr.To[int32](1),
			},
			probing.Check{
				Kind: probing.KindHTTP, HTTP: probing.HTTP{Path: "/up", Host: "db.example.com", HTTPS: true, Statuses: [][2]int{{200, 204}}},
				TLS:      &probing.TLS{ServerName: "db.example.com", SkipVerify: true, RootPEM: []byte("roots")},
				Interval: time.Second, UnhealthyInterval: 5 * time.Second, Timeout: time.Second, HealthyThreshold: 1, UnhealthyThreshold: 1,
			},
		},
		"grpc": {
			networkingv1.HealthCheck{GRPC: &networkingv1.GRPCCheck{Service: "billing", Authority: "db.example.com"}},
			probing.Check{Kind: probing.KindGRPC, GRPC: probing.GRPC{Service: "billing", Authority: "db.example.com"}, Interval: 10 * time.Second, UnhealthyInterval: 30 * time.Second, Timeout: 2 * time.Second, JitterPercent: 10, HealthyThreshold: 2, UnhealthyThreshold: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, checkOf(&c.spec, []byte("roots"))); diff != "" {
				t.Errorf("check (-want +got):\n%s", diff)
			}
		})
	}
}
