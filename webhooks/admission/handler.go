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

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// reviewer responds to a review of the right kind, on create and on update.
type reviewer interface {
	review(ctx context.Context, asked review) answer
}

// firstPatch is room for what most patches are, in bytes.
const firstPatch = 2 << 10

type handler struct {
	Options
	reviewer reviewer
	metrics  metrics
	often    rate.Sometimes // refusals in the log
	panics   rate.Sometimes // stacks in the log
}

var _ http.Handler = (*handler)(nil)

func newHandler(o Options, webhook string, r reviewer) *handler {
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	o.Logger = o.Logger.WithValues("webhook", webhook, "kind", o.Kind.GroupKind().String())
	return &handler{
		Options:  o,
		reviewer: r,
		metrics:  newMetrics(o, webhook),
		often:    rate.Sometimes{First: 10, Interval: time.Second},
		panics:   rate.Sometimes{First: 10, Interval: time.Second},
	}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	body, scratch, out, document := wire.Buffer(), wire.Buffer(), wire.Buffer(), wire.NewDocument()
	defer wire.Release(body)
	defer wire.Release(scratch)
	defer wire.Release(out)
	defer document.Release()
	asked, err := h.read(body, document, r)
	if err != nil {
		h.refuse(w, err, start)
		return
	}
	ctx, cancel := wire.Deadline(r.Context(), r.URL, h.Timeout)
	defer cancel()
	scratch.Grow(firstPatch)
	asked.scratch = scratch
	a := h.answer(ctx, asked)
	if err := a.write(out, asked.UID); err != nil {
		h.refuse(w, wire.Refuse(http.StatusInternalServerError, "%s: the answer cannot be written: %v", label(asked.Request), err), start)
		return
	}
	h.metrics.observe(asked.Operation, a.result, time.Since(start))
	if log := h.Logger.V(1); log.Enabled() {
		log.Info("Admission", "object", label(asked.Request), "operation", asked.Operation, "result", a.result,
			"user", asked.User.Username)
	}
	if a.unknown() {
		sendElsewhere(w, a.status.Message)
		return
	}
	wire.Answer(w, http.StatusOK, out.Bytes())
}

func (h *handler) read(body *bytes.Buffer, document *wire.Document, r *http.Request) (review, error) {
	if err := wire.Read(body, r, h.MaxBody); err != nil {
		return review{}, err
	}
	return parse(document, body.Bytes())
}

// answer decides on a review that could be read. It never panics.
func (h *handler) answer(ctx context.Context, asked review) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			h.panics.Do(func() {
				h.Logger.Error(fmt.Errorf("panic: %v", p), "A webhook panicked", "object", label(asked.Request),
					"operation", asked.Operation, "stack", string(debug.Stack()))
			})
			a = failed(resultPanic, http.StatusInternalServerError, "%s: the webhook panicked; the operator's log has the stack", label(asked.Request))
		}
	}()
	if asked.Kind != h.Kind {
		return failed(resultError, http.StatusBadRequest, "this webhook admits %s, not %s: correct the rules of its configuration", h.Kind, asked.Kind)
	}
	switch asked.Operation {
	case admissionv1.Create, admissionv1.Update:
	case admissionv1.Delete, admissionv1.Connect:
		return allowed()
	default:
		return failed(resultError, http.StatusBadRequest, "%s: operation %.50q is not known", label(asked.Request), asked.Operation)
	}
	if asked.SubResource != "" {
		// A write of the status carries the stored spec, which does not change.
		return allowed()
	}
	if ctx.Err() != nil {
		return failed(resultError, http.StatusGatewayTimeout, "%s: %v", label(asked.Request), context.Cause(ctx))
	}
	if a, ok := h.fits(asked); !ok {
		return a
	}
	return h.reviewer.review(ctx, h.addressed(asked))
}

// fits checks that there is an object, and that it is what the request calls it.
func (h *handler) fits(asked review) (answer, bool) {
	if !asked.object.Exists() {
		return failed(resultError, http.StatusBadRequest, "%s: the review has no request.object", label(asked.Request)), false
	}
	apiVersion, kind, err := wire.Type(asked.object.Bytes())
	if err != nil {
		return failed(resultError, http.StatusBadRequest, "%s: request.object: %v", label(asked.Request), err), false
	}
	if wantedVersion, wantedKind := h.Kind.ToAPIVersionAndKind(); string(apiVersion) != wantedVersion || string(kind) != wantedKind {
		return failed(resultError, http.StatusBadRequest, "%s: request.object is %.100q, %.100q instead of %s",
			label(asked.Request), apiVersion, kind, h.Kind), false
	}
	if values := asked.object.Field("spec").Values(); values > maxValues {
		return failed(resultDenied, http.StatusRequestEntityTooLarge, "%s: its spec has %d values, and at most %d are looked at: make it smaller",
			label(asked.Request), values, maxValues), false
	}
	return answer{}, true
}

// maxValues bounds the values of a spec: more would be more than any schema of ours allows, and an error for
// each of them takes a thousand times its own memory.
const maxValues = 32 << 10

func (h *handler) refuse(w http.ResponseWriter, err error, start time.Time) {
	h.metrics.observe("", resultRefused, time.Since(start))
	h.often.Do(func() { h.Logger.Info("A request for admission was refused", "reason", err.Error()) })
	var refusal *wire.Refusal
	if !errors.As(err, &refusal) {
		refusal = wire.Refuse(http.StatusBadRequest, "%v", err)
	}
	refusal.Answer(w)
}

// label names the object of a request in a message.
func label(req Request) string {
	return req.Kind.Kind + " " + wire.Header{Namespace: req.Namespace, Name: req.Name}.Label()
}
