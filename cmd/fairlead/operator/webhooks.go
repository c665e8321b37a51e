// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
	"github.com/fairlead-dev/fairlead/webhooks/admission/chaospod"
	"github.com/fairlead-dev/fairlead/webhooks/admission/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/admission/rebootpolicy"
	"github.com/fairlead-dev/fairlead/webhooks/admission/warnings"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
	convertchaospod "github.com/fairlead-dev/fairlead/webhooks/conversion/chaospod"
	convertexternalservice "github.com/fairlead-dev/fairlead/webhooks/conversion/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
	convertrebootpolicy "github.com/fairlead-dev/fairlead/webhooks/conversion/rebootpolicy"
	"github.com/fairlead-dev/fairlead/webhooks/server"
	"github.com/fairlead-dev/fairlead/webhooks/server/clientca"
)

// reviews is what admission consults about writers.
type reviews struct {
	policy   externalservice.Policy
	reviewer authorization.Reviewer
	services externalservice.ServiceReader
	warnings *warnings.Reader
}

// handlers are all webhooks by path. Admission is registered for v1 alone: with matchPolicy Equivalent the API
// server converts, and a second registration would only be called as well. Failed is called with each object
// that could not be converted.
func handlers(
	c *options.Configuration, r reviews, failed func(conversion.Failure), metrics prometheus.Registerer, logger logr.Logger,
) map[string]http.Handler {
	ofExternalService, ofRebootPolicy, ofChaosPod := convertexternalservice.New(), convertrebootpolicy.New(), convertchaospod.New()
	common := admission.Options{MaxBody: c.Webhook.MaxBodyBytes, Logger: logger.WithName("admission"), Registerer: metrics}
	byPath := externalservice.New(externalservice.Options{
		Handler: common, Converter: ofExternalService, Policy: r.policy, Reviewer: r.reviewer, Services: r.services,
		Finalize: c.ReconcilesEveryNamespace(),
	})
	maps.Copy(byPath, rebootpolicy.New(rebootpolicy.Options{
		Handler: common, Converter: ofRebootPolicy, Policy: r.policy, Reviewer: r.reviewer, Warnings: r.warnings,
	}))
	maps.Copy(byPath, chaospod.New(chaospod.Options{
		Handler: common, Converter: ofChaosPod, Reviewer: r.reviewer, Warnings: r.warnings,
	}))
	byPath[conversion.Path] = conversion.NewHandler(conversion.Options{
		Converters: []*hubspoke.Converter{ofExternalService, ofRebootPolicy, ofChaosPod},
		MaxBody:    c.Webhook.MaxBodyBytes, Logger: logger.WithName("conversion"), Registerer: metrics, Failed: failed,
	})
	return byPath
}

// callersOf follows the authorities of the clients' certificates; nil where clients need none.
func callersOf(c *options.Configuration, metrics prometheus.Registerer, logger logr.Logger) (*clientca.File, error) {
	if c.Webhook.Clients.CAFile == "" {
		return nil, nil
	}
	return clientca.New(clientca.Options{Path: c.Webhook.Clients.CAFile, Logger: logger.WithName("webhook"), Registerer: metrics})
}

// webhookServer makes the server with all handlers. The API server authenticates itself nowhere when it
// converts, whatever it is configured to.
func webhookServer(
	c *options.Configuration, where identity, source *certificates, callers *clientca.File, byPath map[string]http.Handler,
	by clock.Clock, metrics prometheus.Registerer, logger logr.Logger,
) (*server.Server, error) {
	version, err := cliflag.TLSVersion(c.Webhook.TLS.MinVersion)
	if err != nil {
		return nil, fmt.Errorf("webhook server: %w", err)
	}
	suites, err := cliflag.TLSCipherSuites(c.Webhook.TLS.CipherSuites)
	if err != nil {
		return nil, fmt.Errorf("webhook server: %w", err)
	}
	if version == tls.VersionTLS13 {
		suites = nil
	}
	options := server.Options{
		Host: c.Webhook.Host, Port: c.Webhook.Port,
		Certificate: source.GetCertificate, CABundle: source.CABundle, ServerName: serverName(c, where),
		MinTLSVersion: version, CipherSuites: suites,
		Memory:     requestMemory(),
		DrainDelay: c.Webhook.DrainDelay.Duration, DrainTimeout: c.Webhook.DrainTimeout.Duration,
		Logger: logger.WithName("webhook"), Registerer: metrics, Now: by.Now,
	}
	if callers != nil {
		options.ClientCAs, options.ClientNames, options.Anonymous = callers.Pool, c.Webhook.Clients.Names, []string{conversion.Path}
	}
	s := server.New(options)
	for path, handler := range byPath {
		s.Register(path, handler)
	}
	return s, nil
}
