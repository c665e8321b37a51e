// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package panics

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// total counts panics. It is global, since a goroutine of any package may panic and most have no registerer.
var total = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "fairlead_panics_total",
	Help: "Panics that ended one piece of work, and not the process. Each is a defect: the log has its stack.",
}, []string{"work"})

// Metric returns fairlead_panics_total, to be registered where metrics are served.
func Metric() prometheus.Collector { return total }

// Error is a panic that was recovered.
type Error struct {
	Work  string // as given to Try
	Cause any    // as given to panic
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: panic: %v (its stack is in the log)", e.Work, e.Cause)
}

// Try calls f and returns its error, or an *Error where it panics. Deferred calls of f have run by then, so
// that a lock which f releases by defer is free. The work is a label of the metric: a constant, never an
// object.
func Try(work string, f func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			record(work, cause)
			err = &Error{Work: work, Cause: cause}
		}
	}()
	return f()
}

// Go calls f as Try does, for work that has no error to return.
func Go(work string, f func()) {
	_ = Try(work, func() error { f(); return nil }) // it is in the log and the metric
}

// Contain makes client-go recover as well, as kubelet does: where the handler of an informer's event panics
// the event is skipped, and where a watch does it is started again. It is called once, before anything
// starts.
func Contain() {
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, cause any) { record("client-go", cause) }}
}

func record(work string, cause any) {
	total.WithLabelValues(work).Inc()
	ctrllog.Log.Info("panic", "work", work, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
}
