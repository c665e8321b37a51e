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

	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// metricsServer makes the server of /metrics. Over TLS it lets in only whom the API server knows
// and allows to GET the path.
func metricsServer(c *options.Configuration, api *rest.Config) (named, error) {
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
				return named{}, fmt.Errorf("metrics certificate: %w; correct --metrics-cert-dir, or leave it out for a self-signed one", err)
			}
		}
	}
	var client *http.Client
	if c.Metrics.Secure {
		version, err := cliflag.TLSVersion(c.Webhook.TLS.MinVersion)
		if err != nil {
			return named{}, fmt.Errorf("metrics server: %w", err)
		}
		options.FilterProvider = filters.WithAuthenticationAndAuthorization
		options.TLSOpts = []func(*tls.Config){func(t *tls.Config) {
			t.MinVersion = version
			// HTTP/2 serves scrapers nothing and has cost servers much (CVE-2023-44487).
			t.NextProtos = []string{"http/1.1"}
		}}
		if client, err = rest.HTTPClientFor(api); err != nil {
			return named{}, fmt.Errorf("metrics server: %w", err)
		}
	}
	if c.Profiling.OnMetrics {
		options.ExtraHandlers = profiles()
	}
	server, err := metricsserver.NewServer(options, api, client)
	if err != nil {
		return named{}, fmt.Errorf("metrics server: %w", err)
	}
	return named{"metrics server", func(ctx context.Context) error {
		// The server makes its key before it listens. A port that is taken must be told before the webhooks
		// serve, which would have to drain then.
		var listening net.ListenConfig
		trial, err := listening.Listen(ctx, "tcp", c.Metrics.BindAddress)
		if err == nil {
			err = trial.Close()
		}
		if err != nil {
			return inUse("metrics server", c.Metrics.BindAddress, "--metrics-bind-address", err)
		}
		if err := server.Start(ctx); err != nil {
			return inUse("metrics server", c.Metrics.BindAddress, "--metrics-bind-address", err)
		}
		return nil
	}}, nil
}
