// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault changes what happens to requests. If several faults match a request, the one that was added last applies.
type Fault struct {
	// Match selects the requests that the fault applies to. Required.
	Match Match
	// Times is how many requests the fault applies to, the first ones after it was added. Defaults to 0: all, until it is
	// lifted.
	Times int
	// Delay is the time between the response of the API server and its arrival at the client. The request is carried out
	// before it.
	Delay time.Duration
	// Silent withholds the response until the fault is lifted. The API server receives the request only then.
	Silent bool
	// Answer returns the response instead of the API server. Defaults to nil: the API server responds.
	Answer Answer
	// Mute holds back the events of matching watches, including those that are already open, until the fault is lifted.
	Mute bool
	// Lose drops the events of matching watches, including those that are already open.
	Lose bool
	// Old restricts Mute and Lose to watches that were open when the fault was added, so that a client can recover by
	// opening a new one. Defaults to false: all watches.
	Old bool
	// Rate bounds the bodies of responses, in bytes per second. Defaults to 0: no bound.
	Rate int
}

// Active is a fault that was added to a proxy.
type Active struct {
	fault  Fault
	proxy  *Proxy
	added  time.Time
	struck int           // guarded by the proxy
	lifted chan struct{} // closed once it is lifted
}

// Struck returns how many requests the fault has applied to so far, plus how many events it has dropped.
func (a *Active) Struck() int {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	return a.struck
}

// Lift ends the fault. Responses and events that it holds back then continue.
func (a *Active) Lift() { a.proxy.lift(a) }

// Answer returns the response to a request.
type Answer func(Request) (code int, contentType string, body []byte)

// Page returns an HTML page with a status code, as a proxy does that knows nothing of Kubernetes.
func Page(code int) Answer {
	return func(Request) (int, string, []byte) {
		return code, "text/html", fmt.Appendf(nil, "<html><body><h1>%d %s</h1><hr>proxy</body></html>\n", code, http.StatusText(code))
	}
}

var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound,
	http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusInternalServerError: metav1.StatusReasonInternalError,
}

// Status returns a Status of the API with a code. Clients cannot distinguish it from a response of their own API
// server.
func Status(code int) Answer {
	return func(r Request) (int, string, []byte) {
		body, err := json.Marshal(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reasons[code],
			Message: fmt.Sprintf("%s: %q: %s", r, r.Name, http.StatusText(code)),
			Details: &metav1.StatusDetails{Name: r.Name, Group: r.Group, Kind: r.Resource},
		})
		if err != nil {
			return http.StatusInternalServerError, "text/plain", []byte(err.Error())
		}
		return code, "application/json", body
	}
}
