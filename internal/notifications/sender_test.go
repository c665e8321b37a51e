// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package notifications

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/internal/outbound"
)

// received is a request of the receiver.
type received struct{ method, contentType, body string }

// receiver records what it is sent, and responds with the codes in this order, the last one again and again.
func receiver(t *testing.T, codes ...int) (url string, got chan received) {
	t.Helper()
	got = make(chan received, 2*queueLength)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(codes[0])
		codes = codes[min(1, len(codes)-1):]
		got <- received{r.Method, r.Header.Get("Content-Type"), string(body)}
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

// run returns a Sender that runs until the test ends.
func run(t *testing.T, o Options) *Sender {
	t.Helper()
	o.Source = "/clusters/shop"
	if o.Types == nil {
		o.Types = []string{"Normal", "Warning"}
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func event(kind, reason string) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "payments.17a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}}},
		EventTime:  metav1.NewMicroTime(time.Date(2026, 3, 2, 12, 0, 0, 5000, time.FixedZone("", 3600))),
		Type:       kind, Reason: reason, Action: "Restart", Note: "Deployment web: \"no\" <progress>", ReportingController: "fairlead-rebootpolicy",
		Regarding: corev1.ObjectReference{APIVersion: "autoreboot.fairlead.dev/v1", Kind: "RebootPolicy", Namespace: "shop", Name: "payments", UID: "u1"},
		Related:   &corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
	}
}

func next(t *testing.T, got chan received) received {
	t.Helper()
	select {
	case r := <-got:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was received")
		return received{}
	}
}

func (s *Sender) count(result string) float64 {
	return testutil.ToFloat64(s.results.WithLabelValues(result))
}

func (s *Sender) counted(t *testing.T, result string, want float64) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); s.count(result) != want; <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%v are %s, want %v", s.count(result), result, want)
		}
	}
}

func TestAnEventIsSentAsACloudEvent(t *testing.T) {
	url, got := receiver(t, http.StatusAccepted)
	s := run(t, Options{Receiver: outbound.Endpoint{URL: url}, Registerer: prometheus.NewRegistry()})
	s.Enqueue(event("Warning", "RestartFailed"))
	r := next(t, got)
	var is, want any
	if err := json.Unmarshal([]byte(r.body), &is); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{
		"specversion": "1.0", "id": "shop/payments.17a", "source": "/clusters/shop",
		"type": "dev.fairlead.autoreboot.RebootPolicy.RestartFailed", "subject": "rebootpolicy/shop/payments",
		"time": "2026-03-02T11:00:00.000005Z", "datacontenttype": "application/json", "data": {
			"type": "Warning", "reason": "RestartFailed", "action": "Restart", "message": "Deployment web: \"no\" <progress>",
			"controller": "fairlead-rebootpolicy",
			"regarding": {"apiVersion": "autoreboot.fairlead.dev/v1", "kind": "RebootPolicy", "namespace": "shop", "name": "payments", "uid": "u1"},
			"related": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"}}}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, is); diff != "" || r.method != http.MethodPost || r.contentType != "application/cloudevents+json" {
		t.Errorf("%s %s (-want +got):\n%s", r.method, r.contentType, diff)
	}
	s.counted(t, "sent", 1)
}

func TestAnObjectOfTheClusterHasASubjectWithoutANamespace(t *testing.T) {
	e := event("Normal", "Settled")
	e.Regarding = corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "a"}
	e.Related, e.EventTime = nil, metav1.MicroTime{}
	body, err := encode(e, "/fairlead")
	if text := string(body); err != nil || !strings.Contains(text, `"subject":"node/a"`) || !strings.Contains(text, `"type":"Node.Settled"`) || strings.Contains(text, "related") {
		t.Error(text, err)
	}
}

func TestOnlyEventsOfTheTypesAndReasonsAreSent(t *testing.T) {
	url, got := receiver(t, 200)
	s := run(t, Options{Receiver: outbound.Endpoint{URL: url}, Types: []string{"Warning"}, Reasons: []string{"RestartFailed", "Halted"}})
	for _, e := range []*eventsv1.Event{event("Warning", "ClockSkew"), event("Normal", "Halted"), event("Warning", "Halted")} {
		s.Enqueue(e)
	}
	if r := next(t, got); !strings.Contains(r.body, `"Warning","reason":"Halted"`) {
		t.Error(r.body)
	}
	s.counted(t, "sent", 1)
	if len(got) > 0 {
		t.Error("another one was sent")
	}
}

func TestAnAttemptIsRepeatedWhereThatMayHelp(t *testing.T) {
	for _, test := range []struct {
		codes    []int
		result   string
		attempts int
	}{
		{[]int{503, 429, 204}, "sent", 3},
		{[]int{400}, "refused", 1},
		{[]int{302}, "refused", 1},
	} {
		url, got := receiver(t, test.codes...)
		s := run(t, Options{Receiver: outbound.Endpoint{URL: url}})
		s.Enqueue(event("Warning", "RestartFailed"))
		s.counted(t, test.result, 1)
		if len(got) != test.attempts {
			t.Errorf("%v: %d attempts, want %d", test.codes, len(got), test.attempts)
		}
	}
}

// A receiver that hangs costs a bounded queue, one line of the log, and no time of what records Events.
func TestWhatDoesNotFitIsDropped(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	var lines []string
	log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	s := run(t, Options{Receiver: outbound.Endpoint{URL: server.URL}, Logger: log})
	began := time.Now()
	for range queueLength + 100 {
		s.Enqueue(event("Warning", "RestartFailed"))
	}
	if took := time.Since(began); took > time.Second || s.count("dropped") < 99 || len(lines) != 1 {
		t.Errorf("it took %s, %v were dropped; the log has %q", took, s.count("dropped"), lines)
	}
}

func TestWithoutAReceiverNothingWaits(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := run(t, Options{Logger: logr.Discard(), Registerer: registry})
	s.Enqueue(event("Warning", "RestartFailed"))
	if families, err := registry.Gather(); err != nil || len(families) > 0 || len(s.queue) > 0 {
		t.Error(families, err)
	}
}

// Receivers often have a secret in their URL.
func TestTheURLIsInNoLine(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, test := range map[string]struct {
		receiver outbound.Endpoint
		says     string
	}{
		"no file":   {outbound.Endpoint{URL: gone.URL + "/s3cret", CAFile: "/none"}, "/none"},
		"no server": {outbound.Endpoint{URL: gone.URL + "/s3cret?token=s3cret"}, "connection refused"},
		"no URL":    {outbound.Endpoint{URL: gone.URL + "/s3cret\n"}, "not a URL"},
	} {
		var lines []string
		log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
		s, err := New(Options{Receiver: test.receiver, Logger: log})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		s.send(ctx, event("Warning", "RestartFailed"))
		if all := strings.Join(lines, "\n"); !strings.Contains(all, test.says) || strings.Contains(all, "s3cret") {
			t.Errorf("%s: %s", name, all)
		}
	}
}

func TestTheLogTellsOfEachOutage(t *testing.T) {
	var lines []string
	s, err := New(Options{Receiver: outbound.Endpoint{URL: "http://192.0.2.1"}, Types: []string{"Normal"},
		Logger: funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	for range queueLength + 2 {
		s.Enqueue(event("Normal", "Watching"))
	}
	s.drops.Store(false) // as one that is sent does
	s.Enqueue(event("Normal", "Watching"))
	if len(lines) != 2 {
		t.Errorf("%q", lines)
	}
}
