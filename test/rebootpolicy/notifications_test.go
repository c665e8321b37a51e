// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// notified is the receiver of the notifications of all replicas. It ends with the process.
var notified = newReceiver()

// cloudEvent holds the fields of a CloudEvent that this suite reads.
type cloudEvent struct {
	SpecVersion, ID, Source, Type, Subject string
	Data                                   struct{ Message string }
}

// receiver keeps the CloudEvents by the namespace of their subject.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	events map[string][]cloudEvent
}

func newReceiver() *receiver {
	r := &receiver{events: map[string][]cloudEvent{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var e cloudEvent
		if err := json.NewDecoder(request.Body).Decode(&e); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if parts := strings.Split(e.Subject, "/"); len(parts) == 3 {
			r.mu.Lock()
			r.events[parts[1]] = append(r.events[parts[1]], e)
			r.mu.Unlock()
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	return r
}

func (r *receiver) of(namespace string) []cloudEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events[namespace])
}

// TestWhatHappensIsSentToTheReceiver compares with the Events that the API server has.
func TestWhatHappensIsSentToTheReceiver(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", cooldown: 0s}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	s.succeeded("p", 1)
	s.Tells("RebootPolicy", "p", "RestartVerified", 1)
	s.Eventually(func() error {
		ids := map[string]bool{}
		for _, e := range notified.of(s.Namespace) {
			if ids[e.ID] || e.SpecVersion != "1.0" || e.Source != "/clusters/test" || e.Data.Message == "" {
				return fmt.Errorf("it has an ID twice, or lacks something: %+v", e)
			}
			ids[e.ID] = true
			if e.Type == "dev.fairlead.autoreboot.RebootPolicy.RestartVerified" && e.Subject == "rebootpolicy/"+s.Namespace+"/p" {
				return nil
			}
		}
		return fmt.Errorf("RestartVerified was not sent, but %+v", notified.of(s.Namespace))
	})
}
