// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	cliflag "k8s.io/component-base/cli/flag"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/delegatedauth"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// metricsServer makes the server of /metrics. Over TLS it serves only clients that the API server authenticates
// and allows to GET the path. The reviews have a connection of their own.
func metricsServer(c *options.Configuration, api *rest.Config, registerer prometheus.Registerer, logger logr.Logger) (httpServer, error) {
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
			certificate, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, nil)
			if err != nil {
				return nil, fmt.Errorf("self-signed certificate: %w", err)
			}
			pair, err := tls.X509KeyPair(certificate, key)
			config.Certificates = []tls.Certificate{pair}
			return config, err
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
