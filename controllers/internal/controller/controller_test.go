// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

func TestWhenOnePartFailsAllEnd(t *testing.T) {
	broken := errors.New("broken")
	ended := false
	err := RunAll(t.Context(), func(context.Context) error { return broken }, func(ctx context.Context) error {
		<-ctx.Done()
		ended = true
		return nil
	})
	if !errors.Is(err, broken) || !ended {
		t.Errorf("got %v, the other has ended: %t", err, ended)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := RunAll(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }); err != nil {
		t.Errorf("a stop that was asked for: %v", err)
	}
}

func TestAPanicInOnePartIsItsErrorAndEndsTheOthers(t *testing.T) {
	err := RunAll(t.Context(), func(context.Context) error { panic("a defect") }, func(ctx context.Context) error { //nolint:forbidigo // what it tests
		<-ctx.Done()
		return nil
	})
	if _, ok := errors.AsType[*panics.Error](err); !ok {
		t.Errorf("got %v", err)
	}
}

func TestAReconcileIsASpan(t *testing.T) {
	broken := errors.New("broken")
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(provider)
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	r := traced{reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		if !trace.SpanContextFromContext(ctx).IsSampled() {
			t.Error("what it calls is not in its trace")
		}
		return reconcile.Result{}, broken
	}), "rebootpolicy"}
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}); !errors.Is(err, broken) {
		t.Error(err)
	}
	ended := spans.Ended()
	if len(ended) != 1 || ended[0].Name() != "rebootpolicy" || len(ended[0].Attributes()) != 2 || ended[0].Status().Code != codes.Error {
		t.Errorf("%+v", ended)
	}
}
