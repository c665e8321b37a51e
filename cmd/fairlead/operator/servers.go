// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// probes serves /healthz, /readyz and /statusz. Alive means that this answers: a replica that
// waits for the API server is not healed by a restart. Ready means that webhooks answer, never
// that caches are filled: a cache may need the webhooks of the very pod that would not be ready
// (kubernetes-sigs/controller-runtime#2322). A replica that serves none is ready when it could take
// over, which takes caches: the webhooks that those may need do not wait for this process.
//
// What is degraded, such as a CA bundle that the cluster has lost, is reported in the body of /readyz and does
// not make the replica unready: it is so for all replicas at once, and with none behind the Service
// calls that still work would fail as well. It may be nil.
func probes(ready, degraded func() error, statusz http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, nil, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		var note error
		if degraded != nil {
			note = degraded()
		}
		answer(w, ready(), note)
	})
	mux.Handle("GET /statusz", statusz)
	return mux
}

func answer(w http.ResponseWriter, err, degraded error) {
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	text := "ok\n"
	if degraded != nil {
		text += "degraded: " + degraded.Error() + "\n"
	}
	_, _ = w.Write([]byte(text)) // an error would be that of a client that is gone
}

// profiles are the handlers of net/http/pprof by path. That package also puts them on
// http.DefaultServeMux, which nothing here serves.
func profiles() map[string]http.Handler {
	return map[string]http.Handler{
		"/debug/pprof/":        http.HandlerFunc(pprof.Index),
		"/debug/pprof/cmdline": http.HandlerFunc(pprof.Cmdline),
		"/debug/pprof/profile": http.HandlerFunc(pprof.Profile),
		"/debug/pprof/symbol":  http.HandlerFunc(pprof.Symbol),
		"/debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
	}
}

func profilesMux() http.Handler {
	mux := http.NewServeMux()
	for path, handler := range profiles() {
		mux.Handle(path, handler)
	}
	return mux
}

// serveHTTP serves a handler without TLS until ctx ends; flag is the remedy for an address that
// cannot be used.
func serveHTTP(name, address, flag string, handler http.Handler, logger logr.Logger) component {
	return component{name, func(ctx context.Context) error {
		var listening net.ListenConfig
		listener, err := listening.Listen(ctx, "tcp", address)
		if err != nil {
			return listenError(name, address, flag, err)
		}
		server := &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: 5 * time.Second,
			IdleTimeout:       time.Minute,
			MaxHeaderBytes:    16 << 10,
			ErrorLog:          slog.NewLogLogger(logr.ToSlogHandler(logger), slog.LevelInfo),
		}
		logger.V(1).Info("serving", "server", name, "address", listener.Addr().String())
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		select {
		case err := <-served:
			return fmt.Errorf("%s: %w", name, err)
		case <-ctx.Done():
		}
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if err := server.Shutdown(ending); err != nil {
			_ = server.Close() // a profile may run longer than the stop may take
		}
		return nil
	}}
}

// listenError words the error of a listener.
func listenError(name, address, flag string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s: the address %s is in use by another process: stop it, or choose another address with %s", name, address, flag)
	}
	return fmt.Errorf("%s: %w (the address is set by %s)", name, err, flag)
}

// metricsServer makes the server of /metrics. Over TLS it serves only clients that the API server authenticates
// and allows to GET the path.
func metricsServer(c *options.Configuration, api *rest.Config) (component, error) {
	options := metricsserver.Options{
		BindAddress:   c.Metrics.BindAddress,
		SecureServing: c.Metrics.Secure,
		CertDir:       c.Metrics.CertDir,
	}
	if c.Metrics.CertDir != "" {
		// The server would make a certificate of its own where these are missing, and who
		// configured them would never know.
		for _, name := range []string{"tls.crt", "tls.key"} {
			if _, err := os.Stat(filepath.Join(c.Metrics.CertDir, name)); err != nil {
				return component{}, fmt.Errorf("metrics certificate: %w; correct --metrics-cert-dir, or leave it out for a self-signed one", err)
			}
		}
	}
	var client *http.Client
	if c.Metrics.Secure {
		version, err := cliflag.TLSVersion(c.Webhook.TLS.MinVersion)
		if err != nil {
			return component{}, fmt.Errorf("metrics server: %w", err)
		}
		options.FilterProvider = filters.WithAuthenticationAndAuthorization
		options.TLSOpts = []func(*tls.Config){func(t *tls.Config) {
			t.MinVersion = version
			// HTTP/2 serves scrapers nothing and has cost servers much (CVE-2023-44487).
			t.NextProtos = []string{"http/1.1"}
		}}
		if client, err = rest.HTTPClientFor(api); err != nil {
			return component{}, fmt.Errorf("metrics server: %w", err)
		}
	}
	if c.Profiling.OnMetrics {
		options.ExtraHandlers = profiles()
	}
	server, err := metricsserver.NewServer(options, api, client)
	if err != nil {
		return component{}, fmt.Errorf("metrics server: %w", err)
	}
	return component{"metrics server", func(ctx context.Context) error {
		// The server makes its key before it listens. A port that is taken must be reported before the webhooks
		// serve, which would have to drain then.
		var listening net.ListenConfig
		trial, err := listening.Listen(ctx, "tcp", c.Metrics.BindAddress)
		if err == nil {
			err = trial.Close()
		}
		if err != nil {
			return listenError("metrics server", c.Metrics.BindAddress, "--metrics-bind-address", err)
		}
		if err := server.Start(ctx); err != nil {
			return listenError("metrics server", c.Metrics.BindAddress, "--metrics-bind-address", err)
		}
		return nil
	}}, nil
}

// swappableRegistry exposes the metrics of the current term. Each term has a registry of its own, since a metric
// that stays registered would collide with that of the next term, and keep what it was made from.
type swappableRegistry struct {
	current atomic.Pointer[prometheus.Registry]
}

var _ prometheus.Collector = (*swappableRegistry)(nil)

// set replaces the registry; nil exposes nothing.
func (e *swappableRegistry) set(r *prometheus.Registry) { e.current.Store(r) }

// Describe sends nothing: what is collected changes.
func (e *swappableRegistry) Describe(chan<- *prometheus.Desc) {}

// Collect collects what the registry does.
func (e *swappableRegistry) Collect(metrics chan<- prometheus.Metric) {
	if r := e.current.Load(); r != nil {
		r.Collect(metrics)
	}
}

// deleteQueueDepth deletes the series of workqueue_depth of queues that have ended. controller-runtime counts
// up and down in one gauge for all queues of a name: what was queued when a term ended would be added
// to the depth of every later one.
func deleteQueueDepth(in prometheus.Registerer, queues ...string) {
	// The vector belongs to controller-runtime; to register an equal one returns it in the error.
	like := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Subsystem: ctrlmetrics.WorkQueueSubsystem, Name: ctrlmetrics.DepthKey,
		Help: "Current depth of workqueue by workqueue and priority",
	}, []string{"name", "controller", "priority"})
	err := in.Register(like)
	if err == nil { // it is not there, and need not be
		in.Unregister(like)
		return
	}
	var there prometheus.AlreadyRegisteredError
	if !errors.As(err, &there) {
		return
	}
	if depth, ok := there.ExistingCollector.(*prometheus.GaugeVec); ok {
		for _, name := range queues {
			depth.DeletePartialMatch(prometheus.Labels{"name": name})
		}
	}
}
