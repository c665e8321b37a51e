// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"context"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

const (
	// webhookHealthAge is how old a result may be.
	webhookHealthAge = 2 * time.Second
	// webhookHealthTimeout bounds one list of EndpointSlices.
	webhookHealthTimeout = 2 * time.Second
)

// WebhookHealth reports whether webhooks are served, for a replica that serves none itself and sees no
// conversion fail. While no replica serves them, the API server up to 1.36 forgets all managedFields of an
// object that it patches, where one of them names the other version (kubernetes/kubernetes#136919).
type WebhookHealth struct {
	// Client lists the EndpointSlices of the Service of the webhooks, which Namespace and Service name.
	Client             kubernetes.Interface
	Namespace, Service string
	// Clock decides when a result is too old.
	Clock clock.PassiveClock

	at  time.Time // of the last result
	err error
}

// Check returns nil where a server is ready, or where that cannot be known: a Service that leads out of the cluster,
// as in a local installation, has no EndpointSlices. It is called by one goroutine at a time.
func (h *WebhookHealth) Check(ctx context.Context) error {
	if now := h.Clock.Now(); h.at.IsZero() || now.Sub(h.at) > webhookHealthAge {
		err := h.list(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx) // which says nothing about the endpoints
		}
		h.at, h.err = now, err
	}
	return h.err
}

func (h *WebhookHealth) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, webhookHealthTimeout)
	defer cancel()
	slices, err := h.Client.DiscoveryV1().EndpointSlices(h.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + h.Service,
	})
	if err != nil {
		return fmt.Errorf("whether webhooks are served is not known: %w", err)
	}
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, true) {
				return nil
			}
		}
	}
	if len(slices.Items) > 0 {
		return fmt.Errorf("no replica serves webhooks: no endpoint of the Service %s/%s is ready", h.Namespace, h.Service)
	}
	return nil
}
