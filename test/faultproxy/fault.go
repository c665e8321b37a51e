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

// Fault is what happens to requests. Of several that match a request, the one that was added last counts.
type Fault struct {
	// Match tells which requests the fault strikes. It is required.
	Match Match
	// Times is how many requests it strikes, those that are added first. Defaults to all, until it is lifted.
	Times int
	// Delay passes the API server's answer on so much later: the request was carried out before.
	Delay time.Duration
	// Silent gives no answer until the fault is lifted: the request is not carried out before.
	Silent bool
	// Answer is given instead of the API server's. Defaults to that.
	Answer Answer
	// Mute stops the bodies of watches, also those of watches that were open before, until the fault is lifted.
	Mute bool
	// Lose loses the events of watches, also those of watches that were open before.
	Lose bool
	// Old restricts Mute and Lose to the watches that are open when the fault is added. Defaults to all.
	Old bool
	// Rate bounds bodies to so many bytes a second. Defaults to no bound.
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

// Struck is how many requests the fault has struck so far, and how many events it has lost.
func (a *Active) Struck() int {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	return a.struck
}

// Lift ends the fault. What it holds back goes on.
func (a *Active) Lift() { a.proxy.lift(a) }

// Answer makes an answer to a request.
type Answer func(Request) (code int, contentType string, body []byte)

// Page is the answer of a proxy that knows nothing of Kubernetes.
func Page(code int) Answer {
	return func(Request) (int, string, []byte) {
		return code, "text/html", fmt.Appendf(nil, "<html><body><h1>%d %s</h1><hr>proxy</body></html>\n", code, http.StatusText(code))
	}
}

var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound,
	http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusInternalServerError: metav1.StatusReasonInternalError,
}

// Status is an answer as the API server of another cluster might give it, which nothing tells from the right one.
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
