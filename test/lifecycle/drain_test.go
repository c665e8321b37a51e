// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// traffic is a stream of requests at v1alpha1 from clients that retry nothing. Each request needs a conversion or more. Clients
// pause between requests: otherwise they would take every processor from what they watch.
type traffic struct {
	sent, failed atomic.Int64
	first        atomic.Value // the first failure
	end          func()
}

func (s *suite) traffic(namespace string, clients int) *traffic {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	load := &traffic{}
	var running sync.WaitGroup
	load.end = func() { cancel(); running.Wait() }
	s.Cleanup(load.end)
	resource := s.Dynamic.Resource(oldOnes).Namespace(namespace)
	for client := range clients {
		running.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				var err error
				if i%5 == 0 { // admission too, and nothing to reconcile that would be in the way of what a test waits for
					_, err = resource.Create(ctx, old(fmt.Sprintf("load-%d-%d", client, i)), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				} else {
					_, err = resource.Get(ctx, "one", metav1.GetOptions{})
				}
				if ctx.Err() != nil {
					return
				}
				load.sent.Add(1)
				if err != nil {
					load.failed.Add(1)
					load.first.CompareAndSwap(nil, err.Error())
				}
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
	return load
}

// flows waits until so many more requests have been answered.
func (s *suite) flows(load *traffic, more int64) {
	s.Helper()
	target := load.sent.Load() + more
	s.Eventually(func() error {
		if sent := load.sent.Load(); sent < target {
			return fmt.Errorf("%d of %d requests were answered; failed: %d, the first with %v", sent, target, load.failed.Load(), load.first.Load())
		}
		return nil
	})
}

const conversionsServed = `fairlead_webhook_requests_total{code="200",path="/convert"}`

func TestARolloutUnderAStreamOfConversionsFailsNoRequest(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	namespace := s.NewNamespace()
	// Some sixty looks of the balancer at /readyz. A busy machine skips most of them.
	replicas := []*replica{s.start("--set=webhook.drainDelay=3s"), s.start("--set=webhook.drainDelay=3s")}
	s.create(namespace, "one")
	load := s.traffic(namespace, 4)
	for _, r := range replicas {
		s.flows(load, 100)
		s.Eventually(func() error { // or its end would prove nothing
			if served, err := r.metric(conversionsServed); err != nil || served == 0 {
				return fmt.Errorf("%s has served %v conversions (%v)", r.ID, served, err)
			}
			return nil
		})
		began := time.Now()
		r.Stop()
		if code, output := r.ends(framework.Patience); code != 0 {
			t.Errorf("%s ended with code %d:\n%s", r.ID, code, output)
		}
		t.Logf("%s stopped in %d ms under load", r.ID, time.Since(began).Milliseconds())
		s.flows(load, 100)
		s.Must(r.Start(t.Context()))
		s.Must(framework.Eventually(t.Context(), framework.Patience, r.Ready))
	}
	s.flows(load, max(0, 500-load.sent.Load()))
	load.end()
	t.Logf("%d requests, %d failed", load.sent.Load(), load.failed.Load())
	if load.failed.Load() > 0 {
		t.Errorf("%d of %d requests failed, the first with: %v", load.failed.Load(), load.sent.Load(), load.first.Load())
	}
}

func TestASlowRequestInFlightFinishesAfterTheReplicaHasStoppedAccepting(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start()
	r.reconciles()
	const inFlight = `fairlead_webhook_requests_in_flight{path="/convert"}`
	if n := r.mustMetric(inFlight); n != 0 { // also makes the scraper, before the server waits for a body
		t.Fatalf("%v requests in flight before the first", n)
	}
	body := conversionReview("networking.fairlead.dev/v1", old("slow"))
	reader, writer := io.Pipe()
	answers, problems := make(chan answer, 1), make(chan error, 1)
	go func() {
		got, err := r.send(r.caller(), "/convert", reader)
		answers <- got
		problems <- err
	}()
	_, err := writer.Write(body[:len(body)/2])
	s.Must(err)
	s.Eventually(func() error {
		if n, err := r.metric(inFlight); err != nil || n != 1 {
			return fmt.Errorf("%v requests in flight (%v)", n, err)
		}
		return nil
	})
	ended := make(chan struct{})
	go func() { defer close(ended); r.Stop() }()
	s.Eventually(func() error {
		conn, err := net.Dial("tcp", r.Webhook)
		if err != nil {
			return nil //nolint:nilerr // a refusal is what is waited for
		}
		_ = conn.Close()
		return fmt.Errorf("%s still accepts connections", r.ID)
	})
	select {
	case <-ended:
		t.Fatal("the process ended while a request was in flight")
	default:
	}
	_, err = io.Copy(writer, bytes.NewReader(body[len(body)/2:]))
	s.Must(err)
	s.Must(writer.Close())
	got := <-answers
	s.Must(<-problems)
	s.Must(converted(got))
	<-ended
	if code, output := r.ends(framework.Patience); code != 0 {
		t.Errorf("ended with code %d:\n%s", code, output)
	}
}
