// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// flood sends a tenant's requests to the metrics port: requests with tokens, by several connections.
type flood struct {
	sent  atomic.Int64
	mu    sync.Mutex
	codes map[int]int
}

const (
	floodConnections = 32
	floodRequests    = 20 // by each connection
)

// run sends the requests that one of a number is, and ends with the last.
func (f *flood) run(ctx context.Context, url string, request func(n int64, r *http.Request)) {
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		MaxConnsPerHost: floodConnections, MaxIdleConnsPerHost: floodConnections, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	defer client.CloseIdleConnections()
	var senders sync.WaitGroup
	for range floodConnections {
		senders.Go(func() {
			for range floodRequests {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
				if err != nil {
					return
				}
				request(f.sent.Add(1), r)
				code := 0
				if response, err := client.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
					code = response.StatusCode
				}
				f.mu.Lock()
				f.codes[code]++
				f.mu.Unlock()
			}
		})
	}
	senders.Wait()
}

// halfOpen opens connections that send nothing, until the test ends.
func (s *suite) halfOpen(url string, n int) {
	s.Helper()
	for range n {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "https://"))
		s.Must(err)
		s.Cleanup(func() { _ = conn.Close() })
	}
}

// Any pod reaches the port. What it sends costs the API server a bounded number of reviews and the log a bounded number
// of lines, and keeps neither the kubelet from the probes nor the leader from its work.
func TestAFloodOfTheMetricsPortIsBounded(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start()
	r.reconciles()
	s.Eventually(r.scrapable)
	monitor, tenant := s.scraper(), s.token("tenant", "")
	audience := strings.TrimSpace(s.Kubectl("create", "token", "tenant", "-n", framework.Namespace, "--audience=another"))
	if code, _, err := r.scrape("/metrics", monitor); code != http.StatusOK {
		t.Fatalf("the monitor: %d %v", code, err)
	}
	reviews := func() float64 {
		samples := s.APIServer()
		return samples.Sum("apiserver_request_total", `resource="tokenreviews"`) + samples.Sum("apiserver_request_total", `resource="subjectaccessreviews"`)
	}
	logged := func() int {
		text, err := r.Logs()
		s.Must(err)
		return len(text)
	}
	beforeReviews, beforeLog, began := reviews(), logged(), time.Now()
	f := &flood{codes: map[int]int{}}
	s.halfOpen(r.Metrics, 3000)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.run(s.Context(), r.Metrics+"/metrics", func(n int64, r *http.Request) {
			token := fmt.Sprintf("forged-%d", n)
			switch n % 8 {
			case 0:
				token = tenant
				r.Method = fmt.Sprintf("M%d", n)
			case 1:
				token = tenant
			case 2:
				token = audience
			}
			r.Header.Set("Authorization", "Bearer "+token)
		})
	}()
	namespace := s.NewNamespace()
	created := time.Now()
	s.create(namespace, "db")
	s.reconciled(namespace, "db")
	took, slowest := time.Since(created), time.Duration(0)
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		case <-time.After(100 * time.Millisecond):
		}
		asked := time.Now()
		if _, err := r.Probe(s.Context(), "/readyz"); err != nil {
			t.Errorf("the kubelet, during the flood: %v", err)
		}
		slowest = max(slowest, time.Since(asked))
	}
	if slowest > time.Second { // as long as the kubelet waits
		t.Errorf("/readyz took %s", slowest)
	}
	resident := r.mustMetric("process_resident_memory_bytes")
	elapsed := time.Since(began)
	asked, lines := reviews()-beforeReviews, logged()-beforeLog
	t.Logf("%d requests in %s: %v; %.0f reviews, %d bytes of log, reconciled in %s, /readyz within %s, resident %.0f MiB",
		f.sent.Load(), elapsed.Round(time.Millisecond), f.codes, asked, lines, took, slowest, resident/(1<<20))
	// Twenty at once and ten a second, and what admission asks for the ExternalService.
	if most := 20 + 10*elapsed.Seconds() + 20; asked > most {
		t.Errorf("%.0f reviews within %s, want %.0f at most", asked, elapsed, most)
	}
	if most := 8<<10 + int(elapsed.Seconds())*2<<10; lines > most {
		t.Errorf("%d bytes of log, want %d at most", lines, most)
	}
	for code := range f.codes {
		switch code {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError:
		default:
			t.Errorf("%d answers of %d", f.codes[code], code)
		}
	}
	if state, err := r.status(); err != nil || !state.leads() {
		t.Errorf("it leads no more: %v", err)
	}
}

// While the API server does not review, the leader goes on, and few requests wait.
func TestReviewsThatHangHoldUpNothingElse(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	gateway := s.newGateway()
	r := s.start("--kubeconfig=" + gateway.Kubeconfig)
	r.reconciles()
	s.Eventually(r.scrapable)
	gateway.Hold(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/tokenreviews") })
	f := &flood{codes: map[int]int{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.run(s.Context(), r.Metrics+"/metrics", func(n int64, r *http.Request) {
			r.Header.Set("Authorization", fmt.Sprintf("Bearer forged-%d", n))
		})
	}()
	began := time.Now()
	s.Eventually(func() error {
		if gateway.Held() == 0 {
			return errors.New("no review waits")
		}
		return nil
	})
	namespace := s.NewNamespace()
	s.create(namespace, "db")
	s.reconciled(namespace, "db")
	if held, most := gateway.Held(), 20+10*int(1+time.Since(began)/time.Second); held > most {
		t.Errorf("%d reviews were sent, want %d at most", held, most)
	}
	gateway.Resume()
	<-ended
	if state, err := r.status(); err != nil || !state.leads() {
		t.Errorf("it leads no more: %v", err)
	}
}
