// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package notifications

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/fairlead-dev/fairlead/internal/outbound"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

const (
	// queueLength is how many Events wait at most: those of an outage of the receiver.
	queueLength = 1000
	// timeout of an attempt; those of one Event end after giveUp.
	timeout = 10 * time.Second
	giveUp  = 2 * time.Minute
	// maxBody is how much of a response is read, in bytes, so that the connection can be used again.
	maxBody = 64 << 10
)

// Options of a Sender.
type Options struct {
	// Receiver takes POSTs of CloudEvents. Without a URL nothing is sent.
	Receiver outbound.Endpoint
	// Source is the attribute of that name, a URI reference that says which installation sends.
	Source string
	// Types are those of the Events that are sent, Normal and Warning. Reasons are theirs; none means all.
	Types, Reasons []string
	// Logger reports what is lost. Required.
	Logger logr.Logger
	// Registerer of the metric. Defaults to nil.
	Registerer prometheus.Registerer
}

// Sender sends Events, one after another. It holds up nothing: what does not fit into its queue is dropped, counted and logged.
type Sender struct {
	options Options
	queue   chan *eventsv1.Event
	client  func() (*http.Client, error)
	results *prometheus.CounterVec
	// drops is true from the first Event that is dropped until one is sent.
	drops atomic.Bool
}

// New returns a Sender that sends nothing before Run.
func New(o Options) (*Sender, error) {
	results := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fairlead_notifications_total",
		Help: "Events for the receiver of notifications by result: sent, refused (a response that another attempt does not change), " +
			"failed (given up after 2 minutes) or dropped (the queue was full).",
	}, []string{"result"})
	s := &Sender{options: o, queue: make(chan *eventsv1.Event, queueLength), client: o.Receiver.Client(), results: results}
	if o.Registerer != nil && o.Receiver.URL != "" {
		if err := o.Registerer.Register(results); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Enqueue takes an Event, which must not be changed any more, and does not block.
func (s *Sender) Enqueue(e *eventsv1.Event) {
	o := &s.options
	if o.Receiver.URL == "" || !slices.Contains(o.Types, e.Type) || len(o.Reasons) > 0 && !slices.Contains(o.Reasons, e.Reason) {
		return
	}
	select {
	case s.queue <- e:
	default:
		s.results.WithLabelValues("dropped").Inc()
		if !s.drops.Swap(true) {
			s.options.Logger.Info("Notifications are dropped until the receiver takes one: it is too slow, or does not respond", "queue", queueLength)
		}
	}
}

// Run sends until ctx ends. What waits then is lost: the Events themselves are in the API server.
func (s *Sender) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-s.queue:
			s.results.WithLabelValues(s.send(ctx, e)).Inc()
		}
	}
}

// send returns the result of an Event.
func (s *Sender) send(ctx context.Context, e *eventsv1.Event) string {
	body, err := encode(e, s.options.Source)
	if err != nil {
		s.options.Logger.Error(err, "A notification cannot be encoded", "reason", e.Reason)
		return "refused"
	}
	ctx, cancel := context.WithTimeout(ctx, giveUp)
	defer cancel()
	result := "failed"
	policy := retry.Policy{MinDelay: time.Second, MaxDelay: 30 * time.Second, AttemptTimeout: timeout}
	err = retry.Until(ctx, policy, func(ctx context.Context) error {
		again, err := s.post(ctx, body)
		if err != nil && !again {
			result = "refused"
			err = retry.Final(err)
		}
		return err
	})
	if err != nil {
		s.options.Logger.Error(err, "A notification was not taken", "result", result, "reason", e.Reason,
			"namespace", e.Regarding.Namespace, "name", e.Regarding.Name)
		return result
	}
	s.drops.Store(false)
	return "sent"
}

// post makes one attempt, and reports whether another one may succeed.
func (s *Sender) post(ctx context.Context, body []byte) (again bool, err error) {
	client, err := s.client()
	if err != nil {
		return true, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.options.Receiver.URL, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("notifications.url is not a URL") // the error has it
	}
	request.Header.Set("Content-Type", contentType)
	response, err := client.Do(request)
	if of, is := errors.AsType[*url.Error](err); is { // without the URL, which can have a secret
		err = of.Err
	}
	if err != nil {
		return true, err
	}
	defer response.Body.Close()                                        //nolint:errcheck // nothing is written
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxBody)) // for the connection alone
	switch code := response.StatusCode; {
	case code < 300:
		return false, nil
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		return true, fmt.Errorf("the receiver responds with %s", response.Status)
	default:
		return false, fmt.Errorf("the receiver responds with %s", response.Status)
	}
}
