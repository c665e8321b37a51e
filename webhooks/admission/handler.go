// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stock "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

type handler struct {
	options  Options
	engine   stock.HandlerFunc // for creates and updates of the right kind
	metrics  admissionMetrics
	refusals rate.Sometimes // limits their log lines
	panics   rate.Sometimes // limits their log lines, which hold stacks
}

var _ http.Handler = (*handler)(nil)

func newHandler(o Options, webhook string, engine stock.HandlerFunc) *handler {
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	o.Logger = o.Logger.WithValues("webhook", webhook, "kind", o.Kind.GroupKind().String())
	return &handler{
		options:  o,
		engine:   engine,
		metrics:  newMetrics(o, webhook),
		refusals: rate.Sometimes{First: 10, Interval: time.Second},
		panics:   rate.Sometimes{First: 10, Interval: time.Second},
	}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	req, err := h.read(r)
	if err != nil {
		h.refuse(w, err, start)
		return
	}
	ctx, cancel := review.WithTimeout(r.Context(), r.URL, timeout)
	defer cancel()
	resp, result := h.decide(ctx, req)
	resp.UID = req.UID
	body, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: reviewType, Response: &resp.AdmissionResponse})
	if err != nil {
		h.refuse(w, review.Refuse(http.StatusInternalServerError, "%s: the answer cannot be written: %v", label(req), err), start)
		return
	}
	h.metrics.observe(req.Operation, result, time.Since(start))
	h.options.Logger.V(1).Info("Admission", "object", label(req), "operation", req.Operation, "result", result, "user", req.UserInfo.Username)
	if !resp.Allowed && resp.Result.Code == http.StatusServiceUnavailable {
		// The API server repeats the request on a new connection, which may lead to another replica, up to ten times within
		// the timeout (k8s.io/client-go, rest/with_retry.go). A denial in the response would be final.
		review.Refuse(http.StatusServiceUnavailable, "%s", resp.Result.Message).Respond(w)
		return
	}
	review.Respond(w, http.StatusOK, body)
}

var reviewType = metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: admissionv1.SchemeGroupVersion.String()}

// read reads a review; the error is a *review.Refusal.
func (h *handler) read(r *http.Request) (req Request, err error) {
	body, err := review.ReadBody(r, h.options.MaxBody)
	if err != nil {
		return req, err
	}
	got := admissionv1.AdmissionReview{Request: &req.AdmissionRequest}
	err = review.Decode(body, &got, &got.TypeMeta, reviewType, "the webhook's admissionReviewVersions")
	if err == nil && (got.Request == nil || req.UID == "") {
		err = review.Refuse(http.StatusBadRequest, "the %s has no request.uid", reviewType.Kind)
	}
	return req, err
}

// decide returns the response to a review. It never panics.
func (h *handler) decide(ctx context.Context, req Request) (resp stock.Response, result string) {
	defer func() {
		if p := recover(); p != nil {
			h.panics.Do(func() {
				h.options.Logger.Error(fmt.Errorf("panic: %v", p), "A webhook panicked", "object", label(req),
					"operation", req.Operation, "stack", string(debug.Stack()))
			})
			result = resultPanic
			resp = failed(apierrors.NewInternalError(fmt.Errorf("%s: the webhook panicked; the operator's log has the stack", label(req))))
		}
	}()
	switch operation := req.Operation; {
	case req.Kind != metav1.GroupVersionKind(h.options.Kind):
		resp = failed(apierrors.NewBadRequest(fmt.Sprintf("this webhook admits %s, not %.300s: correct the rules of its configuration",
			h.options.Kind, req.Kind)))
	case operation == admissionv1.Delete, operation == admissionv1.Connect, req.SubResource != "":
		resp = stock.Allowed("") // a write of the status does not change the spec
	case operation != admissionv1.Create && operation != admissionv1.Update:
		resp = failed(apierrors.NewBadRequest(fmt.Sprintf("%s: operation %.50q is not known", label(req), operation)))
	case ctx.Err() != nil:
		resp = failed(apierrors.NewTimeoutError(fmt.Sprintf("%s: %v", label(req), context.Cause(ctx)), 0))
	default:
		resp = h.engine(ctx, req)
	}
	return resp, resultOf(resp)
}

func (h *handler) refuse(w http.ResponseWriter, err error, start time.Time) {
	h.metrics.observe("", resultRefused, time.Since(start))
	h.refusals.Do(func() { h.options.Logger.Info("A request for admission was refused", "reason", err.Error()) })
	review.RespondError(w, err)
}

// label returns the name of the reviewed object for a message.
func label(req Request) string {
	return review.Cut(req.Kind.Kind, 100) + " " + review.Label(req.Namespace, req.Name)
}
