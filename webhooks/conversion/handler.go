// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// Path is where the handler is served; every CRD's spec.conversion names it.
const Path = "/convert"

const (
	// DefaultMaxBody is in bytes: more than the 3 MiB that an API server takes of an object, of which it
	// asks to convert one at a time.
	DefaultMaxBody = 4 << 20
	// DefaultTimeout is how long an API server waits for a conversion; it cannot be configured
	// there.
	DefaultTimeout = 30 * time.Second
)

// Bounds of a failure's message: objects named, and bytes of each reason.
const (
	maxNamed  = 10
	maxReason = 1024
)

// Options of a handler.
type Options struct {
	// Converters convert one kind each. Required: a kind without one is refused.
	Converters []*hubspoke.Converter
	// MaxBody bounds a review, in bytes. Defaults to DefaultMaxBody.
	MaxBody int64
	// Timeout bounds the work on a review; what the request itself allows may be less. Default
	// DefaultTimeout.
	Timeout time.Duration
	// Logger logs failures. Defaults to logr.Discard().
	Logger logr.Logger
	// Registerer exposes the metrics. Defaults to nil: metrics are not registered.
	Registerer prometheus.Registerer
	// Failed is called with each object that could not be converted. It must not block, and may be called
	// from any goroutine. Defaults to nil: it is not called.
	Failed func(Failure)
}

type handler struct {
	routes  routes
	maxBody int64
	timeout time.Duration
	log     logr.Logger
	often   rate.Sometimes // failures and refusals in the log: a poisoned list fails eleven times a second
	panics  rate.Sometimes // stacks in the log
	failed  func(Failure)
	metrics conversionMetrics
	unknown counts
}

var _ http.Handler = (*handler)(nil)

// NewHandler returns the handler of Path.
func NewHandler(o Options) http.Handler {
	h := &handler{
		maxBody: o.MaxBody,
		timeout: o.Timeout,
		log:     o.Logger,
		metrics: newMetrics(o.Registerer, o.Logger),
		often:   rate.Sometimes{First: 10, Interval: time.Second},
		panics:  rate.Sometimes{First: 10, Interval: time.Second},
		failed:  o.Failed,
	}
	if h.failed == nil {
		h.failed = func(Failure) {}
	}
	if h.maxBody <= 0 {
		h.maxBody = DefaultMaxBody
	}
	if h.timeout <= 0 {
		h.timeout = DefaultTimeout
	}
	h.routes = newRoutes(o.Converters, h.metrics)
	h.unknown = h.metrics.of(unknown, unknown, unknown)
	return h
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, out, document := review.Buffer(), review.Buffer(), jsonindex.NewDocument()
	defer review.Release(body)
	defer review.Release(out)
	defer document.Release()
	req, err := h.read(body, document, r)
	if err != nil {
		h.refuse(w, err)
		return
	}
	if err := h.convert(r.Context(), review.Timeout(r.URL, h.timeout), req, out); err != nil {
		h.often.Do(func() {
			h.log.Error(err, "A conversion failed", "uid", req.uid, "desired", review.Cut(req.desired, 100))
		})
		failAnswer(out, req.uid, err.Error())
	}
	review.Respond(w, http.StatusOK, out.Bytes())
}

func (h *handler) read(body *bytes.Buffer, document *jsonindex.Document, r *http.Request) (request, error) {
	if err := review.ReadBody(body, r, h.maxBody); err != nil {
		return request{}, err
	}
	return parse(document, body.Bytes())
}

func (h *handler) refuse(w http.ResponseWriter, err error) {
	h.metrics.refused.Inc()
	h.often.Do(func() { h.log.Info("A request for conversion was refused", "reason", err.Error()) })
	var refusal *review.Refusal
	if !errors.As(err, &refusal) {
		refusal = review.Refuse(http.StatusBadRequest, "%v", err)
	}
	refusal.Respond(w)
}

// convert writes the answer to a review. Its error names every object that failed, so that all
// can be repaired at once; the answer is of no use then. The time is looked at before every object:
// no converter waits for anything, so none needs a context of its own.
func (h *handler) convert(ctx context.Context, patience time.Duration, req request, out *bytes.Buffer) error {
	start := time.Now()
	switch {
	case req.desired == "":
		return errors.New("the review names no desiredAPIVersion")
	case !h.routes.target[req.desired]:
		return fmt.Errorf("nothing is converted to %.100q here; the kinds are %s", req.desired, h.routes.names())
	}
	beginAnswer(out, req.uid)
	var failures failures
	for i, object := range req.objects {
		if err := spent(ctx, start, patience); err != nil {
			return fmt.Errorf("stopped after %d of %d objects: %w", i, len(req.objects), err)
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.Grow(2 * len(object.Bytes())) // what an object becomes is rarely more than twice its size
		converted, err := h.object(out.AvailableBuffer(), object, req.desired)
		if err != nil {
			failures.add(i, object, err)
			continue
		}
		out.Write(converted)
	}
	endAnswer(out)
	return failures.err()
}

// spent returns why no caller waits for a response any more.
func spent(ctx context.Context, start time.Time, patience time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if time.Since(start) > patience {
		return review.TimeoutError(patience)
	}
	return nil
}

// object converts one object, appended to out, and counts it.
func (h *handler) object(out []byte, object jsonindex.Value, desired string) ([]byte, error) {
	way, err := h.find(object, desired)
	if err != nil {
		h.unknown.failed.Inc()
		h.failed(failureOf(object, desired))
		return nil, err
	}
	if way.same {
		way.counts.converted.Inc()
		return append(out, object.Bytes()...), nil
	}
	start := time.Now()
	converted, err := h.run(out, way, object, desired)
	way.counts.seconds.Observe(time.Since(start).Seconds())
	switch {
	case err == nil:
		way.counts.done(converted)
		return converted.Object, nil
	case errors.Is(err, errPanic):
		way.counts.panicked.Inc()
	default:
		way.counts.failed.Inc()
	}
	h.failed(failureOf(object, desired))
	return converted.Object, err
}

func (h *handler) find(object jsonindex.Value, desired string) (*route, error) {
	if object.Kind() == 'n' {
		return nil, errors.New("it is null")
	}
	if object.Kind() != '{' {
		return nil, errors.New("not a JSON object")
	}
	return h.routes.find(object.Field("apiVersion").TextOrEmpty(), object.Field("kind").TextOrEmpty(), desired)
}

var errPanic = errors.New("the converter panicked; the operator's log has the stack")

// run calls the converter, and turns a panic into an error.
func (h *handler) run(out []byte, way *route, object jsonindex.Value, desired string) (converted hubspoke.Converted, err error) {
	defer func() {
		if p := recover(); p != nil {
			h.panics.Do(func() {
				h.log.Error(fmt.Errorf("panic: %v", p), "A converter panicked",
					"object", labelOf(object), "desired", desired, "stack", string(debug.Stack()))
			})
			converted, err = hubspoke.Converted{}, errPanic
		}
	}()
	return way.converter.AppendConverted(out, object, way.toVersion)
}

// failures collects what failed in a review, bounded.
type failures struct {
	named []string
	more  int
}

func (f *failures) add(index int, object jsonindex.Value, err error) {
	if len(f.named) == maxNamed {
		f.more++
		return
	}
	kind := object.Field("kind").TextOrEmpty()
	if kind == "" {
		kind = "object"
	}
	f.named = append(f.named, review.Cut(fmt.Sprintf("%.100s %s (objects[%d]): %v", kind, labelOf(object), index, err), maxReason))
}

func (f *failures) err() error {
	switch {
	case len(f.named) == 0:
		return nil
	case f.more > 0:
		return fmt.Errorf("%s; and %d more", strings.Join(f.named, "; "), f.more)
	}
	return errors.New(strings.Join(f.named, "; "))
}
