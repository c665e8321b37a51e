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

// flushTimeout bounds the sending of the last spans.
const flushTimeout = 2 * time.Second

// traces sends spans to the collector in the configuration. It is nil if there is no collector.
type traces struct{ provider tracing.TracerProvider }

// newTraces creates the tracer provider of the process. Spans are sent in batches. If the collector is away or slow,
// they are dropped.
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
	otel.SetTracerProvider(provider) // reconcilers use the global provider
	return &traces{provider}, nil
}

// send makes the client of a configuration trace its requests to the API server.
func (t *traces) send(api *rest.Config) {
	if t != nil {
		api.Wrap(tracing.WrapperFor(t.provider))
	}
}

// serve wraps the handler of a webhook so that its calls are traced.
func (t *traces) serve(path string, handler http.Handler) http.Handler {
	if t == nil {
		return handler
	}
	return tracing.WithTracing(handler, t.provider, path)
}

// component returns the component that sends the last spans when the others have stopped.
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
		return nil // spans that cannot be sent are lost, which is no failure of the operator
	}}}
}
