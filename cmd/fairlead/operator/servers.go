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
	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	cliflag "k8s.io/component-base/cli/flag"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/connections"
)

// probes serves /healthz, /readyz and /statusz. A replica is alive if it responds: to restart one that waits for the
// API server would not help. It is ready if webhooks respond and their CA bundle was published, or one attempt was
// made. It does not wait for caches: a cache may need the webhooks of the very pod that would not be ready
// (kubernetes-sigs/controller-runtime#2322). A replica without webhooks is ready when its caches are filled, so that it
// could lead: another process serves the webhooks that those may need.
//
// The body of /readyz reports what is degraded, such as a CA bundle that the cluster has lost. That does not make the
// replica unready. It is so for all replicas at once: without any behind the Service, calls that still work would fail
// as well. degraded may be nil.
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
	_, _ = w.Write([]byte(text)) // an error means that the client is gone
}

// profiles returns the handlers of net/http/pprof by path. That package also registers them on http.DefaultServeMux,
// which is not served.
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

// maxConnections bounds the open connections of each of these servers. The kubelet must reach /healthz even if a pod
// floods the port.
const maxConnections = 256

// httpServer is a server of probes or profiles.
type httpServer struct {
	name, address string
	flag          string // the flag to change if the address cannot be used
	handler       http.Handler
	logger        logr.Logger
	// evicted counts connections that were closed to make room for new ones.
	evicted prometheus.Counter
}

// run serves until ctx ends.
func (s httpServer) run(ctx context.Context) error {
	var listening net.ListenConfig
	raw, err := listening.Listen(ctx, "tcp", s.address)
	if err != nil {
		return listenError(s.name, s.address, s.flag, err)
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
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	s.logger.V(1).Info("serving", "server", s.name, "address", raw.Addr().String())
	err = server.Serve(connections.Bound(raw, connections.Options{Max: maxConnections, Evicted: s.evicted}))
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

// listenError adds to an error of the listener what to do about it.
func listenError(name, address, flag string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s: the address %s is in use by another process: stop it, or choose another address with %s", name, address, flag)
	}
	return fmt.Errorf("%s: %w (the address is set by %s)", name, err, flag)
}

// reviewRate and reviewBurst bound the reviews of callers of the metrics port, in requests a second. Any pod may send
// tokens, and the API server must not be asked about each.
const reviewRate, reviewBurst = 10, 20

// metricsServer returns controller-runtime's server of /metrics and of the log level. Over TLS it serves only clients
// that the API server authenticates and authorizes for the path. It sends these reviews by the connection of api.
func metricsServer(c *options.Configuration, api *rest.Config, level *LogLevel) (component, error) {
	o := metricsserver.Options{BindAddress: c.Metrics.BindAddress, SecureServing: c.Metrics.Secure, ExtraHandlers: map[string]http.Handler{}}
	if c.Profiling.OnMetrics {
		o.ExtraHandlers = profiles()
	}
	if c.Metrics.Secure {
		o.FilterProvider = reviewed
		if level != nil {
			o.ExtraHandlers["POST "+logLevelPath] = level
		}
		configure, err := metricsTLS(c)
		if err != nil {
			return component{}, err
		}
		o.TLSOpts, o.CertDir = []func(*tls.Config){configure}, c.Metrics.CertDir
	}
	api = rest.CopyConfig(api)
	api.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(reviewRate, reviewBurst) // one limit for all reviews
	client, err := rest.HTTPClientFor(api)
	if err != nil {
		return component{}, fmt.Errorf("metrics server: %w", err)
	}
	server, err := metricsserver.NewServer(o, api, client)
	if err != nil {
		return component{}, fmt.Errorf("metrics server: %w", err)
	}
	return component{"metrics server", func(ctx context.Context) error {
		if err := server.Start(ctx); err != nil {
			return listenError("metrics server", c.Metrics.BindAddress, "--metrics-bind-address", err)
		}
		return nil
	}}, nil
}

// reviewed returns controller-runtime's filter for metricsServer. The filter logs each failed review; here at most one
// in ten seconds is logged.
func reviewed(api *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	filter, err := filters.WithAuthenticationAndAuthorization(api, client)
	if err != nil {
		return nil, err
	}
	return func(logger logr.Logger, handler http.Handler) (http.Handler, error) {
		return filter(logr.New(sparseSink{logger.GetSink(), &rate.Sometimes{Interval: 10 * time.Second}}), handler)
	}, nil
}

// sparseSink is a log sink that drops most errors.
type sparseSink struct {
	logr.LogSink
	sometimes *rate.Sometimes
}

func (s sparseSink) Error(err error, text string, values ...any) {
	s.sometimes.Do(func() { s.LogSink.Error(err, text, values...) })
}

// selfSigned returns a certificate of this host with an ECDSA key. An RSA key would take a quarter of the CPU time of a
// start.
func selfSigned(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "localhost"},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{{127, 0, 0, 1}},
		NotBefore:   now.Add(-time.Hour), // for scrapers whose clock is late
		NotAfter:    now.AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// metricsTLS returns a function that configures TLS. With a folder, the server follows the certificate in it. Without
// one, the certificate is self-signed.
func metricsTLS(c *options.Configuration) (func(*tls.Config), error) {
	version, err := cliflag.TLSVersion(c.Webhook.TLS.MinVersion)
	if err != nil {
		return nil, fmt.Errorf("metrics server: %w", err)
	}
	var certificate tls.Certificate
	if c.Metrics.CertDir == "" {
		if certificate, err = selfSigned(time.Now()); err != nil {
			return nil, fmt.Errorf("metrics server: self-signed certificate: %w", err)
		}
	} else {
		for _, file := range []string{"tls.crt", "tls.key"} { // if one is missing, the server would take a self-signed one
			if _, err := os.Stat(filepath.Join(c.Metrics.CertDir, file)); err != nil {
				return nil, fmt.Errorf("metrics certificate: %w; correct metrics.certDir, or leave it out for a self-signed one", err)
			}
		}
	}
	return func(config *tls.Config) {
		// HTTP/2 has no use for scrapers, and has had costly vulnerabilities (CVE-2023-44487).
		config.MinVersion, config.NextProtos = version, []string{"http/1.1"} // at least TLS 1.2: the configuration is validated
		if certificate.Certificate != nil {
			config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil }
		}
	}, nil
}
