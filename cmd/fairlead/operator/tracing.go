// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// flushTimeout is how long the last spans may take to be sent.
const flushTimeout = 2 * time.Second

// traces sends spans to the collector of the configuration. It is nil where there is none.
type traces struct{ provider tracing.TracerProvider }

// newTraces makes the provider of the process, and sends nothing. Spans are sent in batches; what a collector that is away or slow
// does not take is dropped.
func newTraces(c options.Tracing, version string, self identity, logger logr.Logger) (*traces, error) {
	if c.Endpoint == "" || c.Endpoint == options.Off {
		return nil, nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.V(1).Info("Spans were not sent", "reason", err.Error()) }))
	provider, err := tracing.NewProvider(context.Background(),
		&tracingapi.TracingConfiguration{Endpoint: &c.Endpoint, SamplingRatePerMillion: &c.SamplingRatePerMillion}, nil,
		[]resource.Option{resource.WithAttributes(
			semconv.ServiceName("fairlead"), semconv.ServiceVersion(version), semconv.ServiceInstanceID(self.id),
		)})
	if err != nil {
		return nil, fmt.Errorf("tracing.endpoint: %w", err)
	}
	otel.SetTracerProvider(provider) // of the reconcilers
	return &traces{provider}, nil
}

// send has requests to the API server traced.
func (t *traces) send(api *rest.Config) {
	if t != nil {
		api.Wrap(tracing.WrapperFor(t.provider))
	}
}

// serve has the calls of a webhook traced.
func (t *traces) serve(path string, handler http.Handler) http.Handler {
	if t == nil {
		return handler
	}
	return tracing.WithTracing(handler, t.provider, path)
}

// component sends the last spans when the others have stopped.
func (t *traces) component() []component {
	if t == nil {
		return nil
	}
	return []component{{"traces", func(ctx context.Context) error {
		<-ctx.Done()
		flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := t.provider.Shutdown(flush); !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return nil // they are lost with the collector
	}}}
}
