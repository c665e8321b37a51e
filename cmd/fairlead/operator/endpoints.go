// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

const (
	// endpointsAge is how old an answer about them may be.
	endpointsAge = 2 * time.Second
	// endpointsTimeout bounds one question.
	endpointsTimeout = 2 * time.Second
)

// endpoints looks whether webhooks are served, for a replica that serves none itself and sees no conversion
// fail. While no replica serves them, the API server up to 1.36 forgets all managedFields of an object that
// it patches, where one of them names the other version (kubernetes/kubernetes#136919).
type endpoints struct {
	client             kubernetes.Interface
	namespace, service string
	clock              clock.PassiveClock

	once sync.Once
	turn chan struct{} // holds one, for the one that may look and change what follows
	at   time.Time
	err  error
}

// healthy is nil where a server is ready, or that cannot be told: a Service that leads out of the cluster,
// as in a local installation, has no EndpointSlices. It returns when ctx ends at the latest.
func (e *endpoints) healthy(ctx context.Context) error {
	e.once.Do(func() { e.turn = make(chan struct{}, 1) })
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if now := e.clock.Now(); e.at.IsZero() || now.Sub(e.at) > endpointsAge {
		err := e.look(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx) // which says nothing about the endpoints
		}
		e.at, e.err = now, err
	}
	return e.err
}

func (e *endpoints) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endpointsTimeout)
	defer cancel()
	slices, err := e.client.DiscoveryV1().EndpointSlices(e.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + e.service,
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
		return fmt.Errorf("no replica serves webhooks: no endpoint of the Service %s/%s is ready", e.namespace, e.service)
	}
	return nil
}
