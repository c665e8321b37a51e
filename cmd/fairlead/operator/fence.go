// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// fenced refuses what a replica that does not lead would write. Reconcilers are told to stop when the
// Lease is lost; this holds also for one that was stopped in the middle, with its whole process, and
// goes on after another replica has begun.
type fenced struct {
	next  http.RoundTripper
	check func() error // nil while this replica leads
}

// fence puts the check in front of every write of a client. A nil check lets everything pass.
func fence(api *rest.Config, check func() error) *rest.Config {
	if check == nil {
		return api
	}
	api = rest.CopyConfig(api)
	api.Wrap(func(next http.RoundTripper) http.RoundTripper { return &fenced{next, check} })
	return api
}

func (f *fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	if writes(r) {
		if err := f.check(); err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // which a RoundTripper owes
			}
			return nil, fmt.Errorf("not sent: %w", err)
		}
	}
	return f.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go find the transport, to close its idle connections.
func (f *fenced) WrappedRoundTripper() http.RoundTripper { return f.next }

// writes says whether a request changes anything that matters. Events are told after the fact, by a
// goroutine that would try again and again.
func writes(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return !strings.Contains(r.URL.Path, "/apis/events.k8s.io/")
	default:
		return false
	}
}
