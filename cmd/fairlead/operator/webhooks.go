// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
	admitexternalservice "github.com/fairlead-dev/fairlead/webhooks/admission/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/admission/warnings"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
	"github.com/fairlead-dev/fairlead/webhooks/server"
	"github.com/fairlead-dev/fairlead/webhooks/server/clientca"
)

// reviews holds what the admission of each kind uses to decide what a writer may do.
type reviews struct {
	policy   admitexternalservice.Policy
	reviewer authorization.Reviewer
	services admitexternalservice.ServiceReader
	// isolation reads which pods a NetworkPolicy would isolate.
	isolation admitexternalservice.IsolationReader
	warnings  *warnings.Reader
	pods      corev1client.PodsGetter // nil if the operator creates no pods
	// workloads are the kinds of other projects that targets may name.
	workloads []workloadkinds.Kind
	finalize  bool // whether admission adds the finalizer to objects
	// unavailable is why no ClusterRebootPolicy can be created; "" if it can.
	unavailable string
}

// handlers returns all webhooks by path. Admission is registered for v1 only: with matchPolicy Equivalent, the API
// server converts objects of other versions. A second registration would be called in addition. failed is called with
// each object that cannot be converted.
func (a *assembly) handlers(r reviews, failed func(conversion.Failure)) map[string]http.Handler {
	maxBody := a.config.Webhook.MaxBodyBytes
	common := admission.Options{MaxBody: maxBody, Logger: a.logger.WithName("admission"), Registerer: a.metrics}
	byPath := map[string]http.Handler{}
	var converted []schema.GroupKind
	for _, kind := range a.kinds {
		converted = append(converted, kind.GroupKind())
		maps.Copy(byPath, kind.admit(common, r))
	}
	byPath[conversion.Path] = conversion.NewHandler(conversion.Options{
		Kinds: converted, MaxBody: maxBody, Logger: a.logger.WithName("conversion"), Registerer: a.metrics, Failed: failed,
	})
	return byPath
}

// newClientAuthorities returns the file with the authorities of client certificates; nil if clients need no
// certificate.
func (a *assembly) newClientAuthorities() (*clientca.File, error) {
	path := a.config.Webhook.Clients.CAFile
	if path == "" {
		return nil, nil
	}
	return clientca.New(clientca.Options{Path: path, Logger: a.logger.WithName("webhook"), Registerer: a.metrics})
}

// newWebhookServer creates the server with all handlers. Conversion accepts callers without a certificate, since the
// API server cannot be configured to present one there.
func (a *assembly) newWebhookServer(source certs.Source, callers *clientca.File, byPath map[string]http.Handler) (*server.Server, error) {
	c := a.config.Webhook
	version, err := cliflag.TLSVersion(c.TLS.MinVersion)
	if err != nil {
		return nil, fmt.Errorf("webhook server: %w", err)
	}
	suites, err := cliflag.TLSCipherSuites(c.TLS.CipherSuites)
	if err != nil {
		return nil, fmt.Errorf("webhook server: %w", err)
	}
	if version == tls.VersionTLS13 {
		suites = nil
	}
	options := server.Options{
		Host: c.Host, Port: c.Port,
		Certificate: source.GetCertificate, CABundle: source.CABundle, ServerName: a.serverName(),
		MinTLSVersion: version, CipherSuites: suites,
		Memory:     requestMemory(),
		DrainDelay: c.DrainDelay.Duration, DrainTimeout: c.DrainTimeout.Duration,
		Logger: a.logger.WithName("webhook"), Registerer: a.metrics, Now: a.clock.Now,
	}
	if callers != nil {
		options.ClientCAs, options.ClientNames, options.Anonymous = callers.Pool, c.Clients.Names, []string{conversion.Path}
	}
	s := server.New(options)
	for path, handler := range byPath {
		s.Register(path, a.traces.serve(path, handler))
	}
	return s, nil
}
