// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/delegatedauth"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/lifecycle"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/connections"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// probes serves /healthz, /readyz and /statusz. Alive means that this answers: a replica that
// waits for the API server is not healed by a restart. Ready means that webhooks answer, and that it was attempted to
// publish their CA, never that caches are filled: a cache may need the webhooks of the very pod that would not be ready
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

// maxConnections is how many each of these servers has open, and enough for scrapers and probes.
const maxConnections = 256

// httpServer is a server beside the webhook's.
type httpServer struct {
	name, address string
	flag          string // the remedy for an address that cannot be used
	handler       http.Handler
	// tls returns the configuration of TLS, and runs what keeps it current until ctx ends. Nil: without TLS.
	tls    func(ctx context.Context) (*tls.Config, error)
	logger logr.Logger
	// evicted counts connections that were closed for further ones.
	evicted prometheus.Counter
}

func (s httpServer) component() lifecycle.Component {
	return lifecycle.Component{Name: s.name, Run: s.run}
}

// run serves until ctx ends.
func (s httpServer) run(ctx context.Context) error {
	var listening net.ListenConfig
	raw, err := listening.Listen(ctx, "tcp", s.address)
	if err != nil {
		return listenError(s.name, s.address, s.flag, err)
	}
	listener := net.Listener(connections.Bound(raw, connections.Options{Max: maxConnections, Evicted: s.evicted}))
	if s.tls != nil {
		config, err := s.tls(ctx)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", s.name, err), raw.Close())
		}
		listener = tls.NewListener(listener, config)
	}
	server := &http.Server{
		Handler:           s.handler,
		ConnContext:       connections.Context,
		ConnState:         connections.Track,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          connections.NewErrorLog(connections.LogOptions{Logger: s.logger, Message: "Connection error of the " + s.name}),
	}
	s.logger.V(1).Info("serving", "server", s.name, "address", raw.Addr().String())
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("%s: %w", s.name, err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		_ = server.Close() // a profile may run longer than the stop may take
	}
	return nil
}

// listenError words the error of a listener.
func listenError(name, address, flag string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s: the address %s is in use by another process: stop it, or choose another address with %s", name, address, flag)
	}
	return fmt.Errorf("%s: %w (the address is set by %s)", name, err, flag)
}

// metricsServer makes the server of /metrics, and of the level of the log. Over TLS it serves only clients that the API server
// authenticates, and allows to call the path by the method. The reviews have a connection of their own.
func metricsServer(
	c *options.Configuration, api *rest.Config, level *LogLevel, registerer prometheus.Registerer, logger logr.Logger,
) (httpServer, error) {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(ctrlmetrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	if c.Profiling.OnMetrics {
		for path, handler := range profiles() {
			mux.Handle(path, handler)
		}
	}
	server := httpServer{
		name: "metrics server", address: c.Metrics.BindAddress, flag: "--metrics-bind-address", handler: mux, logger: logger,
	}
	if !c.Metrics.Secure {
		return server, nil
	}
	if level != nil {
		mux.Handle("POST "+logLevelPath, level)
	}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return server, fmt.Errorf("metrics server: %w", err)
	}
	filter, err := delegatedauth.New(delegatedauth.Options{Client: client, Logger: logger, Metrics: registerer})
	if err != nil {
		return server, fmt.Errorf("metrics server: %w", err)
	}
	server.handler = filter.Wrap(mux)
	server.tls, err = metricsTLS(c, logger)
	return server, err
}

// selfSigned returns a certificate of this host with an ECDSA key: an RSA key takes a quarter of the processor time of a start.
func selfSigned(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "localhost"},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{{127, 0, 0, 1}},
		NotBefore:   now.Add(-time.Hour), // of a scraper whose clock is late
		NotAfter:    now.AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// metricsTLS returns what makes the configuration of TLS: with the certificate of a folder, which is followed, or with
// a self-signed one.
func metricsTLS(c *options.Configuration, logger logr.Logger) (func(context.Context) (*tls.Config, error), error) {
	version, err := cliflag.TLSVersion(c.Webhook.TLS.MinVersion)
	if err != nil {
		return nil, fmt.Errorf("metrics server: %w", err)
	}
	// HTTP/2 serves scrapers nothing and has cost servers much (CVE-2023-44487).
	config := &tls.Config{MinVersion: version, NextProtos: []string{"http/1.1"}} // 1.2 at least, which the configuration is checked for
	if c.Metrics.CertDir == "" {
		return func(context.Context) (*tls.Config, error) {
			certificate, err := selfSigned(time.Now())
			if err != nil {
				return nil, fmt.Errorf("self-signed certificate: %w", err)
			}
			config.Certificates = []tls.Certificate{certificate}
			return config, nil
		}, nil
	}
	certificate, key := filepath.Join(c.Metrics.CertDir, "tls.crt"), filepath.Join(c.Metrics.CertDir, "tls.key")
	for _, file := range []string{certificate, key} {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("metrics certificate: %w; correct metrics.certDir, or leave it out for a self-signed one", err)
		}
	}
	return func(ctx context.Context) (*tls.Config, error) {
		watcher, err := certwatcher.New(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("metrics certificate: %w", err)
		}
		go panics.Go("certificate of the metrics server", func() { // until ctx ends
			if err := watcher.Start(ctx); err != nil {
				logger.Error(err, "The certificate of the metrics server is not followed")
			}
		})
		config.GetCertificate = watcher.GetCertificate
		return config, nil
	}, nil
}
