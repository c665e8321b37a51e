// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/utils/clock"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	rulesofchaospod "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	rulesofexternalservice "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	rulesofrebootpolicy "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/translation"
	"github.com/fairlead-dev/fairlead/webhooks/authorization"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/chaospod"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/rebootpolicy"
	"github.com/fairlead-dev/fairlead/webhooks/server"
	"github.com/fairlead-dev/fairlead/webhooks/server/clientca"
)

const (
	hub   = "v1"
	spoke = "v1alpha1"
)

// authorizers ask whether writers may have what they write.
type authorizers struct {
	externalServices *authorization.ExternalService
	rebootPolicies   *authorization.RebootPolicy
	chaosPods        *authorization.ChaosPod
}

// handlers are all webhooks by path. Admission is registered for v1 alone: with matchPolicy
// Equivalent the API server converts, and a second registration would only be called as well. Failed is
// told of each object that could not be converted.
func handlers(c options.Webhook, authorize authorizers, overlapping *overlaps, failed func(conversion.Failure), metrics prometheus.Registerer, logger logr.Logger) map[string]http.Handler {
	w := &webhooks{
		byPath:  map[string]http.Handler{},
		options: admission.Options{MaxBody: c.MaxBodyBytes, Logger: logger.WithName("admission"), Registerer: metrics},
	}
	add(w, networkingv1.GroupVersion.WithKind("ExternalService"), externalservice.New(), rules[networkingv1.ExternalService]{
		Default: rulesofexternalservice.DefaultMaps, Validate: rulesofexternalservice.Validate, Warnings: rulesofexternalservice.Warnings,
		Overlaps: overlapping.pods.ofExternalService,
		Stamp:    authorize.externalServices.Stamp, Authorize: authorize.externalServices.Validate,
	})
	add(w, autorebootv1.GroupVersion.WithKind("RebootPolicy"), rebootpolicy.New(), rules[autorebootv1.RebootPolicy]{
		Default: rulesofrebootpolicy.DefaultMaps, Validate: rulesofrebootpolicy.Validate, Warnings: rulesofrebootpolicy.Warnings,
		Overlaps: overlapping.ofRebootPolicy,
		Stamp:    authorize.rebootPolicies.Stamp, Authorize: authorize.rebootPolicies.Validate,
	})
	add(w, chaosv1.GroupVersion.WithKind("ChaosPod"), chaospod.New(), rules[chaosv1.ChaosPod]{
		Default: rulesofchaospod.Default, Validate: rulesofchaospod.Validate, Warnings: rulesofchaospod.Warnings,
		Overlaps: overlapping.ofChaosPod,
		Stamp:    authorize.chaosPods.Stamp, Authorize: authorize.chaosPods.Validate,
	})
	w.byPath[conversion.Path] = conversion.NewHandler(conversion.Options{
		Converters: w.converters, MaxBody: c.MaxBodyBytes, Logger: logger.WithName("conversion"), Registerer: metrics, Failed: failed,
	})
	return w.byPath
}

// rules are what decides about objects of a kind. All but the first three may be nil.
type rules[T any] struct {
	Default   func(obj *T)
	Validate  func(obj, old *T) field.ErrorList
	Warnings  func(obj, old *T) []string
	Overlaps  func(ctx context.Context, obj *T) []string
	Stamp     func(ctx context.Context, req admission.Request, obj, old *T) (map[string]string, error)
	Authorize func(ctx context.Context, req admission.Request, obj, old *T) ([]string, field.ErrorList)
}

// webhooks collects the handlers and the converters.
type webhooks struct {
	byPath     map[string]http.Handler
	options    admission.Options
	converters []*hubspoke.Converter
}

// add registers the webhooks of one kind.
func add[T any](w *webhooks, kind schema.GroupVersionKind, converter *hubspoke.Converter, r rules[T]) {
	w.converters = append(w.converters, converter)
	options := w.options
	options.Kind = kind
	options.Translator = func(version string, object []byte) admission.Translator {
		return translation.Read(kind.Kind, converter, version, object)
	}
	w.byPath[admission.MutatePath(kind)] = admission.Mutating(options, admission.Mutator[T]{
		Default: r.Default,
		Keep:    keeper{converter}.keep,
		Stamp:   r.Stamp,
	})
	w.byPath[admission.ValidatePath(kind)] = admission.Validating(options, admission.Validator[T]{
		Validate: func(ctx context.Context, req admission.Request, obj, old *T) ([]string, field.ErrorList) {
			warnings := r.Warnings(obj, old)
			if r.Overlaps != nil {
				warnings = append(warnings, r.Overlaps(ctx, obj)...)
			}
			var before any
			if old != nil {
				before = old
			}
			errs := append(r.Validate(obj, old), restorable(converter, spoke, req.RequestKind.Version, obj, before)...)
			// Rights are asked for what is valid only: that costs a call, and the answer would speak
			// of fields that must change anyway.
			if len(errs) == 0 && r.Authorize != nil {
				var more []string
				more, errs = r.Authorize(ctx, req, obj, old)
				warnings = append(warnings, more...)
			}
			return warnings, errs
		},
	})
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
func webhookServer(c *options.Configuration, where identity, source *certificates, callers *clientca.File, byPath map[string]http.Handler, by clock.Clock, metrics prometheus.Registerer, logger logr.Logger) (*server.Server, error) {
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
