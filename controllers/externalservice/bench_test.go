// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// unchangingClient is a cache of three objects that do not change.
type unchangingClient struct {
	client.Client
	es      *networkingv1.ExternalService
	service *corev1.Service
	slices  []discoveryv1.EndpointSlice
}

func (c *unchangingClient) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *networkingv1.ExternalService:
		c.es.DeepCopyInto(into)
	case *corev1.Service:
		c.service.DeepCopyInto(into)
	}
	return nil
}

func (c *unchangingClient) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if list, ok := into.(*discoveryv1.EndpointSliceList); ok {
		list.Items = c.slices
	}
	return nil
}

// BenchmarkReconcileWithoutAChange is an object of 5 addresses at which nothing has changed, with the
// real tracker, prober and policy.
func BenchmarkReconcileWithoutAChange(b *testing.B) {
	s := newSuite(b, `{ports: [{name: sql, port: 5432}], healthCheck: {httpGet: {path: /ready}, interval: 10s}, endpoints: [
	  {name: a, addresses: [192.0.2.1, 192.0.2.2, 192.0.2.3]}, {name: b, priority: 1, addresses: [198.51.100.1, 198.51.100.2]}]}`)
	prober := probe.New(probe.Options{Dial: func(context.Context, egress.Query) (net.Conn, error) { return nil, errors.ErrUnsupported }})
	s.reconcileOnce()
	for i := range 5 {
		s.health.setHealth([]string{"a", "a", "a", "b", "b"}[i], []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "198.51.100.1", "198.51.100.2"}[i], up)
	}
	s.reconcileOnce()
	cached := &unchangingClient{Client: s.store, es: s.object(), service: mustService(s)}
	var list discoveryv1.EndpointSliceList
	s.must(s.store.List(b.Context(), &list))
	cached.slices = list.Items
	r := newReconciler(Reconciler{
		Client: cached, Live: cached, Secrets: cached, Events: s.Events, Now: s.Now,
		Resolution: resolution.New(resolution.Options{}), Probes: prober, Policy: egress.NewPolicy(egress.Options{}),
	})
	s.writes, s.events = nil, nil
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Reconcile(b.Context(), reconcile.Request{NamespacedName: objectKey}); err != nil {
			b.Fatal(err)
		}
	}
	if len(s.writes)+len(s.events) > 0 {
		b.Fatalf("wrote %q, told %q", s.writes, s.events)
	}
}
