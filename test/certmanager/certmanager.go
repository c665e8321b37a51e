// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Options of Run.
type Options struct {
	// Kubeconfig is the path of the file that says which cluster, as whom. Default: the cluster and the ServiceAccount of the pod
	// that this is.
	Kubeconfig string
	// ClusterResourceNamespace is where the Secrets of ClusterIssuers are. Default: cert-manager.
	ClusterResourceNamespace string
	// Health is the address of /healthz and /readyz. Default: none is served.
	Health string
	// Injector runs the CA injector beside the controllers that issue. Default: false.
	Injector bool
}

// Run runs cert-manager until ctx ends, and then returns nil. The CRDs must be served.
func Run(ctx context.Context, o Options) error {
	if o.ClusterResourceNamespace == "" {
		o.ClusterResourceNamespace = "cert-manager"
	}
	var waiting atomic.Int32
	started := func() { waiting.Add(-1) }
	group, running := errgroup.WithContext(ctx)
	waiting.Store(1)
	if o.Injector {
		waiting.Add(1)
		group.Go(func() error { return injector(running, o, started) })
	}
	group.Go(func() error { return controllers(running, o, started) })
	if o.Health != "" {
		group.Go(func() error { return health(running, o.Health, func() bool { return waiting.Load() == 0 }) })
	}
	if err := group.Wait(); ctx.Err() == nil {
		return err
	}
	return nil // what fails on the way out was told to end
}

// health serves /healthz and /readyz until ctx ends.
func health(ctx context.Context, address string, ready func() bool) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "the controllers have not started yet", http.StatusServiceUnavailable)
		}
	})
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("health server: %w", err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("health server: %w", err)
	case <-ctx.Done():
		_ = server.Close() // no client waits for a response about health any more
		<-served           //nolint:errcheck // the server is closed
		return nil
	}
}
