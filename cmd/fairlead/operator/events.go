// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// clusterWithEvents is a cluster whose Events are bounded; those of controller-runtime have no bound, and do
// not become series while the resource version of their object changes.
type clusterWithEvents struct {
	cluster.Cluster
	events *events.Broadcaster
}

// newClusterWithEvents makes the cluster of the reconcilers.
func (a *assembly) newClusterWithEvents(api *rest.Config, held map[client.Object]cache.ByObject, metrics prometheus.Registerer) (cluster.Cluster, error) {
	made, err := a.newCluster(api, held)
	if err != nil {
		return nil, err
	}
	writer, err := eventsv1client.NewForConfig(api)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.api.origin, err)
	}
	events, err := events.NewBroadcaster(events.BroadcasterOptions{Client: writer, Scheme: a.scheme, Registerer: metrics})
	if err != nil {
		return nil, fmt.Errorf("events of the controllers: %w", err)
	}
	return &clusterWithEvents{Cluster: made, events: events}, nil
}

// Start runs the caches, and writes Events, until ctx ends.
func (r *clusterWithEvents) Start(ctx context.Context) error {
	events, stop := context.WithCancel(context.WithoutCancel(ctx)) // the last reconciles are told, too
	written := make(chan error, 1)
	go func() {
		written <- panics.Try("events", func() error { return r.events.Run(events) })
	}()
	err := r.Cluster.Start(ctx)
	stop()
	return errors.Join(err, <-written)
}

// GetEventRecorder returns the recorder of a controller.
func (r *clusterWithEvents) GetEventRecorder(name string) recorder.EventRecorder {
	return r.events.Recorder(name)
}
