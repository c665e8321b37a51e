// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// reviewer responds to a review of the right kind, on create and on update.
type reviewer interface {
	review(ctx context.Context, req request) response
}

// firstPatch is room for what most patches are, in bytes.
const firstPatch = 2 << 10

type handler struct {
	options  Options
	reviewer reviewer
	metrics  admissionMetrics
	refusals rate.Sometimes // limits their log lines
	panics   rate.Sometimes // limits their log lines, which hold stacks
}

var _ http.Handler = (*handler)(nil)

func newHandler(o Options, webhook string, r reviewer) *handler {
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	o.Logger = o.Logger.WithValues("webhook", webhook, "kind", o.Kind.GroupKind().String())
	return &handler{
		options:  o,
		reviewer: r,
		metrics:  newMetrics(o, webhook),
		refusals: rate.Sometimes{First: 10, Interval: time.Second},
		panics:   rate.Sometimes{First: 10, Interval: time.Second},
	}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	body, scratch, out, document := review.Buffer(), review.Buffer(), review.Buffer(), jsonindex.NewDocument()
	defer review.Release(body)
	defer review.Release(scratch)
	defer review.Release(out)
	defer document.Release()
	req, err := h.read(body, document, r)
	if err != nil {
		h.refuse(w, err, start)
		return
	}
	ctx, cancel := review.WithTimeout(r.Context(), r.URL, timeout)
	defer cancel()
	scratch.Grow(firstPatch)
	req.scratch = scratch
	resp := h.decide(ctx, req)
	if err := resp.write(out, req.UID); err != nil {
		h.refuse(w, review.Refuse(http.StatusInternalServerError, "%s: the answer cannot be written: %v", label(req.Request), err), start)
		return
	}
	h.metrics.observe(req.Operation, resp.result, time.Since(start))
	if log := h.options.Logger.V(1); log.Enabled() {
		log.Info("Admission", "object", label(req.Request), "operation", req.Operation, "result", resp.result,
			"user", req.User.Username)
	}
	if resp.undecided() {
		retryElsewhere(w, resp.status.Message)
		return
	}
	review.Respond(w, http.StatusOK, out.Bytes())
}

func (h *handler) read(body *bytes.Buffer, document *jsonindex.Document, r *http.Request) (request, error) {
	if err := review.ReadBody(body, r, h.options.MaxBody); err != nil {
		return request{}, err
	}
	return parse(document, body.Bytes())
}

// decide responds to a review that could be read. It never panics.
func (h *handler) decide(ctx context.Context, req request) (resp response) {
	defer func() {
		if p := recover(); p != nil {
			h.panics.Do(func() {
				h.options.Logger.Error(fmt.Errorf("panic: %v", p), "A webhook panicked", "object", label(req.Request),
					"operation", req.Operation, "stack", string(debug.Stack()))
			})
			resp = failed(resultPanic, http.StatusInternalServerError, "%s: the webhook panicked; the operator's log has the stack", label(req.Request))
		}
	}()
	if req.Kind != h.options.Kind {
		return failed(resultError, http.StatusBadRequest, "this webhook admits %s, not %s: correct the rules of its configuration", h.options.Kind, req.Kind)
	}
	switch req.Operation {
	case admissionv1.Create, admissionv1.Update:
	case admissionv1.Delete, admissionv1.Connect:
		return allowed()
	default:
		return failed(resultError, http.StatusBadRequest, "%s: operation %.50q is not known", label(req.Request), req.Operation)
	}
	if req.SubResource != "" {
		// A write of the status carries the stored spec, which does not change.
		return allowed()
	}
	if ctx.Err() != nil {
		return failed(resultError, http.StatusGatewayTimeout, "%s: %v", label(req.Request), context.Cause(ctx))
	}
	if refusal, ok := h.fits(req); !ok {
		return refusal
	}
	return h.reviewer.review(ctx, req)
}

// fits checks that there is an object, and that it is what the request calls it.
func (h *handler) fits(req request) (response, bool) {
	if !req.object.Exists() {
		return failed(resultError, http.StatusBadRequest, "%s: the review has no request.object", label(req.Request)), false
	}
	if req.object.Kind() != '{' {
		return failed(resultError, http.StatusBadRequest, "%s: request.object: not a JSON object", label(req.Request)), false
	}
	apiVersion, kind := req.object.Field("apiVersion"), req.object.Field("kind")
	if wantedVersion, wantedKind := h.options.Kind.ToAPIVersionAndKind(); !apiVersion.EqualsText(wantedVersion) ||
		!kind.EqualsText(wantedKind) {
		return failed(resultError, http.StatusBadRequest, "%s: request.object is %.100q, %.100q instead of %s",
			label(req.Request), apiVersion.TextOrEmpty(), kind.TextOrEmpty(), h.options.Kind), false
	}
	if values := req.object.Field("spec").Values(); values > maxValues {
		return failed(resultDenied, http.StatusRequestEntityTooLarge, "%s: its spec has %d values, and at most %d are looked at: make it smaller",
			label(req.Request), values, maxValues), false
	}
	return response{}, true
}

// maxValues bounds the values of a spec: more would be more than any schema of ours allows, and an error for
// each of them takes a thousand times its own memory.
const maxValues = 32 << 10

func (h *handler) refuse(w http.ResponseWriter, err error, start time.Time) {
	h.metrics.observe("", resultRefused, time.Since(start))
	h.refusals.Do(func() { h.options.Logger.Info("A request for admission was refused", "reason", err.Error()) })
	var refusal *review.Refusal
	if !errors.As(err, &refusal) {
		refusal = review.Refuse(http.StatusBadRequest, "%v", err)
	}
	refusal.Respond(w)
}

// label names the object of a request in a message.
func label(req Request) string {
	return req.Kind.Kind + " " + review.Label(req.Namespace, req.Name)
}

// retryElsewhere has the API server repeat the request on a new connection, which may lead to another
// replica. It retries a 503 with Retry-After at once, up to ten times within the webhook's timeout
// (k8s.io/client-go, rest/with_retry.go); a review in response would be final.
func retryElsewhere(w http.ResponseWriter, message string) {
	review.Refuse(http.StatusServiceUnavailable, "%s", message).Respond(w)
}
