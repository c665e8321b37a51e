// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// Path is the path of the handler. spec.conversion of every CRD names it.
const Path = "/convert"

const (
	// DefaultMaxBody is in bytes. An API server accepts objects of at most 3 MiB, and has each object converted in a
	// review of its own.
	DefaultMaxBody = 4 << 20
	// DefaultTimeout is how long an API server waits for a conversion, which is fixed.
	DefaultTimeout = 30 * time.Second
)

// The bounds of a failure's message: how many objects it names, and bytes of each reason.
const (
	maxNamed  = 10
	maxReason = 1024
)

// Options of a handler.
type Options struct {
	// Kinds are the kinds that are converted; package spelling must know each. Others are refused. Required.
	Kinds []schema.GroupKind
	// MaxBody bounds a review, in bytes. Defaults to DefaultMaxBody.
	MaxBody int64
	// Timeout bounds the work on a review. A shorter timeout in the request applies instead. Defaults to DefaultTimeout.
	Timeout time.Duration
	// Logger logs failures. Defaults to logr.Discard().
	Logger logr.Logger
	// Registerer exposes the metrics. Defaults to nil: metrics are not registered.
	Registerer prometheus.Registerer
	// Failed is called with each object that could not be converted. It must not block, and must be safe for concurrent
	// use. Defaults to nil: it is not called.
	Failed func(Failure)
}

type handler struct {
	routes  routes
	maxBody int64
	timeout time.Duration
	log     logr.Logger
	often   rate.Sometimes // bounds log lines: a LIST with a broken object may fail eleven times a second
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
	h.routes = newRoutes(o.Kinds, h.metrics)
	h.unknown = h.metrics.of(unknown, unknown, unknown)
	return h
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req, err := h.read(r)
	if err != nil {
		h.refuse(w, err)
		return
	}
	converted, err := h.convert(r.Context(), review.Timeout(r.URL, h.timeout), req)
	if err != nil {
		h.often.Do(func() {
			h.log.Error(err, "A conversion failed", "uid", req.UID, "desired", review.Cut(req.DesiredAPIVersion, 100))
		})
	}
	out, err := response(req, converted, err)
	if err != nil {
		h.refuse(w, review.Refuse(http.StatusInternalServerError, "the response cannot be written: %v", err))
		return
	}
	review.Respond(w, http.StatusOK, out)
}

func (h *handler) read(r *http.Request) (*apiextensionsv1.ConversionRequest, error) {
	body, err := review.ReadBody(r, h.maxBody)
	if err != nil {
		return nil, err
	}
	return parse(body)
}

func (h *handler) refuse(w http.ResponseWriter, err error) {
	h.metrics.refused.Inc()
	h.often.Do(func() { h.log.Info("A request for conversion was refused", "reason", err.Error()) })
	review.RespondError(w, err)
}

// convert returns the objects of a review at the desired version. Its error names every object that failed, so that a
// user can repair all of them. It checks the time before every object: a conversion waits for nothing, so none needs a
// context of its own.
func (h *handler) convert(
	ctx context.Context, patience time.Duration, req *apiextensionsv1.ConversionRequest,
) ([]runtime.RawExtension, error) {
	start, desired := time.Now(), req.DesiredAPIVersion
	switch {
	case desired == "":
		return nil, errors.New("the review names no desiredAPIVersion")
	case !h.routes.target[desired]:
		return nil, fmt.Errorf("nothing is converted to %.100q here; the kinds are %s", desired, h.routes.names())
	}
	converted := make([]runtime.RawExtension, 0, len(req.Objects))
	var failures failures
	for i, object := range req.Objects {
		if err := spent(ctx, start, patience); err != nil {
			return nil, fmt.Errorf("stopped after %d of %d objects: %w", i, len(req.Objects), err)
		}
		is := identify(object)
		raw, err := h.object(object, is, desired)
		if err != nil {
			h.failed(is.failure(desired))
			failures.add(i, is, err)
			continue
		}
		converted = append(converted, runtime.RawExtension{Raw: raw})
	}
	return converted, failures.err()
}

// spent returns why no caller waits for the response any more; nil if one does.
func spent(ctx context.Context, start time.Time, patience time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if time.Since(start) > patience {
		return review.TimeoutError(patience)
	}
	return nil
}

// object converts one object, and counts it.
func (h *handler) object(object runtime.RawExtension, is identity, desired string) ([]byte, error) {
	way, err := h.find(object, is, desired)
	if err != nil {
		h.unknown.failed.Inc()
		return nil, err
	}
	if way.same {
		way.counts.converted.Inc()
		return object.Raw, nil
	}
	start := time.Now()
	raw, err := way.table.Convert(object.Raw, way.group, way.toVersion)
	way.counts.seconds.Observe(time.Since(start).Seconds())
	if err != nil {
		way.counts.failed.Inc()
		return nil, err
	}
	way.counts.converted.Inc()
	return raw, nil
}

func (h *handler) find(object runtime.RawExtension, is identity, desired string) (*route, error) {
	switch jsontext.Value(object.Raw).Kind() {
	case jsontext.KindInvalid, jsontext.KindNull:
		return nil, errors.New("it is null")
	case jsontext.KindBeginObject:
		return h.routes.find(is.APIVersion, is.Kind, desired)
	}
	return nil, errors.New("not a JSON object")
}

// failures collects a bounded number of failures of a review.
type failures struct {
	named []string
	more  int
}

func (f *failures) add(index int, is identity, err error) {
	if len(f.named) == maxNamed {
		f.more++
		return
	}
	kind := is.Kind
	if kind == "" {
		kind = "object"
	}
	f.named = append(f.named, review.Cut(fmt.Sprintf("%.100s %s (objects[%d]): %v", kind, is.label(), index, err), maxReason))
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
