// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Refusal is the response to a request that holds no review. It goes out as a metav1.Status, whose
// message the API server hands on to the user.
type Refusal struct {
	Code    int // of HTTP, 400 or more
	Message string
}

var _ error = (*Refusal)(nil)

// Refuse makes a Refusal of a code and a message.
func Refuse(code int, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error is the message.
func (r *Refusal) Error() string { return r.Message }

// Respond responds to the request. A 503 makes the API server try again at once, over a new connection that may reach
// another replica (k8s.io/client-go, rest/with_retry.go).
func (r *Refusal) Respond(w http.ResponseWriter) {
	if r.Code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "0")
		w.Header().Set("Connection", "close")
	}
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Message:  r.Message,
		Reason:   reasons[r.Code],
		Code:     int32(r.Code),
	})
	if err != nil {
		http.Error(w, r.Message, r.Code)
		return
	}
	if r.Code == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	Respond(w, r.Code, body)
}

// RespondError responds with the Refusal that err is, or with a bad request.
func RespondError(w http.ResponseWriter, err error) {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		refusal = Refuse(http.StatusBadRequest, "%v", err)
	}
	refusal.Respond(w)
}

var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest:            metav1.StatusReasonBadRequest,
	http.StatusForbidden:             metav1.StatusReasonForbidden,
	http.StatusMethodNotAllowed:      metav1.StatusReasonMethodNotAllowed,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusUnsupportedMediaType:  metav1.StatusReasonUnsupportedMediaType,
	http.StatusInternalServerError:   metav1.StatusReasonInternalError,
	http.StatusRequestTimeout:        metav1.StatusReasonTimeout,
	http.StatusServiceUnavailable:    metav1.StatusReasonServiceUnavailable,
}

// Respond writes a JSON body. It ignores a failed write, which means that the caller has gone.
func Respond(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body)
}
