// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

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
// fail. While nobody serves them, the API server up to 1.36 forgets all managedFields of an object that it
// patches, where one of them names the other version (kubernetes/kubernetes#136919).
type endpoints struct {
	client             kubernetes.Interface
	namespace, service string
	clock              clock.PassiveClock

	mu  sync.Mutex
	at  time.Time
	err error
}

// healthy is nil where a server is ready, or nobody can tell: a Service that leads out of the cluster, as
// in a local installation, has no EndpointSlices.
func (e *endpoints) healthy() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := e.clock.Now(); e.at.IsZero() || now.Sub(e.at) > endpointsAge {
		e.at, e.err = now, e.look()
	}
	return e.err
}

func (e *endpoints) look() error {
	ctx, cancel := context.WithTimeout(context.Background(), endpointsTimeout)
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
		return fmt.Errorf("nobody serves webhooks: no endpoint of the Service %s/%s is ready", e.namespace, e.service)
	}
	return nil
}
