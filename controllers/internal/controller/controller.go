// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/ptr"
	runtimecontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// RunAll runs parts that need each other: when one has ended, the contexts of all are canceled. It
// returns when the last has ended, with the errors of all. A panic in one is an error of that one.
func RunAll(ctx context.Context, parts ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(parts))
	for _, run := range parts {
		go func() {
			ended <- panics.Try("reconciler", func() error { return run(ctx) })
		}()
	}
	var errs []error
	for range parts {
		errs = append(errs, <-ended)
		cancel()
	}
	return errors.Join(errs...)
}

// Controller is one of controller-runtime.
type Controller = runtimecontroller.Controller

// Options of a controller.
type Options struct {
	// Reconciler does the work.
	Reconciler reconcile.Reconciler
	// Wrap returns what is called in place of the reconciler, and calls it. Defaults to the
	// reconciler itself.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
	// Concurrency is how many objects are reconciled at once. Defaults to 2.
	Concurrency int
	// CacheSyncTimeout bounds the first LIST. Defaults to two minutes, as in controller-runtime.
	CacheSyncTimeout time.Duration
	// Logger is handed to each reconcile.
	Logger logr.Logger
}

// New makes a controller that the caller starts. A panic in it is an error of the object.
func New(name string, o Options) (Controller, error) {
	if o.Wrap != nil {
		o.Reconciler = o.Wrap(o.Reconciler)
	}
	return runtimecontroller.NewUnmanaged(name, runtimecontroller.Options{
		Reconciler:              traced{o.Reconciler, name},
		MaxConcurrentReconciles: max(cmp.Or(o.Concurrency, 2), 1),
		CacheSyncTimeout:        o.CacheSyncTimeout,
		EnableWarmup:            ptr.To(true),
		RecoverPanic:            ptr.To(true),
		SkipNameValidation:      ptr.To(true), // tests start several in one process
		Logger:                  o.Logger,
	})
}

// traced has each reconcile be a span of the process's provider, which by default drops it.
type traced struct {
	reconcile.Reconciler
	controller string
}

func (t traced) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	ctx, span := otel.Tracer("github.com/fairlead-dev/fairlead").Start(ctx, t.controller, trace.WithAttributes(
		semconv.K8SNamespaceName(r.Namespace), attribute.String("fairlead.object", r.Name),
	))
	defer span.End()
	result, err := t.Reconciler.Reconcile(ctx, r)
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, "")
	}
	return result, err
}

// Warmup starts the watches of a controller, and returns when they
// have synced. Nothing is reconciled before it is started.
func Warmup(ctx context.Context, name string, c Controller) error {
	warmer, ok := c.(interface{ Warmup(context.Context) error })
	if !ok {
		return fmt.Errorf("controller %s: a %T cannot be warmed up", name, c)
	}
	return warmer.Warmup(ctx)
}
