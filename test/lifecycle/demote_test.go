// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// demoting is the mode, with durations that leave time for a busy machine to stop in.
var demoting = append(electing(12, 5), "--on-lost-lease=demote")

// demoted waits until a replica has stopped reconciling and goes on serving.
func (r *replica) demoted(times int) {
	r.suite.Helper()
	r.suite.Eventually(func() error {
		if r.PID() == 0 {
			output, _ := r.Logs()
			r.suite.Fatalf("%s has ended:\n%s", r.ID, output)
		}
		if got := len(r.entries(demotedMessage)); got < times {
			return fmt.Errorf("%s was demoted %d times, not %d", r.ID, got, times)
		}
		return nil
	})
}

const demotedMessage = "demoted: the Lease is lost and the reconcilers have stopped; webhooks go on, and this replica rejoins the election"

func TestADemotedReplicaServesWebhooksThroughoutAndLeadsAgain(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	g := s.newGateway()
	namespace := s.NewNamespace()
	a := s.start(append([]string{"--kubeconfig=" + g.Kubeconfig}, demoting...)...)
	a.reconciles()
	// It leaves under load in the end, and closes what has been silent for as long as this: on a busy
	// machine half a second of silence means nothing.
	b := s.start(append([]string{"--webhook-drain-delay=3s"}, demoting...)...)
	s.leadership(a, b)
	s.create(namespace, "one")
	s.reconciled(namespace, "one")
	load := s.traffic(namespace, 2)

	cut := time.Now()
	g.Cut(leases)
	a.demoted(1)
	t.Logf("demoted %d ms after the last renewal could pass, with a renew deadline of 5 s", time.Since(cut).Milliseconds())
	if value := a.mustMetric("fairlead_leader"); value != 0 {
		t.Errorf("fairlead_leader is %v after the demotion", value)
	}
	b.reconciles()
	t.Logf("the other one reconciles %d ms after the cut, with a lease of 12 s", time.Since(cut).Milliseconds())
	s.create(namespace, "two")
	s.reconciled(namespace, "two")

	g.Cut(func(*http.Request) bool { return false })
	s.Eventually(func() error { // a candidate again, and warm
		status, err := a.status()
		if err == nil && (status.state("election") != "running" || status.state("caches") != "done" || status.state("reconcilers") != "skipped" ||
			!strings.Contains(status.fact("leader"), b.ID)) {
			err = fmt.Errorf("%s: %+v", a.ID, status)
		}
		return err
	})
	s.Must(a.Ready(t.Context()))
	pid := a.PID()

	s.Retire(b.Replica)
	a.reconciles()
	s.create(namespace, "three")
	s.reconciled(namespace, "three")
	load.end()
	if failed := load.failed.Load(); failed > 0 {
		t.Errorf("%d of %d requests failed, the first: %v", failed, load.sent.Load(), load.first.Load())
	}
	t.Logf("%d requests at v1alpha1, none failed", load.sent.Load())
	if a.PID() != pid {
		t.Error("the demoted replica was restarted")
	}
}

// A replica that does not reach the API server at all has nothing to build its next term from.
func TestADemotedReplicaThatIsCutOffStandsAgainWhenItIsBack(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	g := s.newGateway()
	a := s.start(append([]string{"--kubeconfig=" + g.Kubeconfig}, demoting...)...)
	a.reconciles()
	g.Cut(func(*http.Request) bool { return true })
	a.demoted(1)
	s.Eventually(func() error {
		if len(a.entries("start: going on without this phase, which is attempted again")) == 0 {
			return fmt.Errorf("%s does not say that it cannot stand again", a.ID)
		}
		return nil
	})
	s.Must(a.Ready(t.Context()))
	g.Cut(func(*http.Request) bool { return false })
	a.reconciles()
	namespace := s.NewNamespace()
	s.create(namespace, "one")
	s.reconciled(namespace, "one")
}

func TestFiftyDemotionsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	port, err := loopback.FreePort()
	s.Must(err)
	profiles := fmt.Sprintf("127.0.0.1:%d", port)
	r := s.start(slices.Concat(demoting, []string{"--leader-elect-retry-period=100ms", "--pprof-bind-address=" + profiles})...)
	r.reconciles()
	namespace := s.NewNamespace()
	s.create(namespace, "one")
	s.reconciled(namespace, "one")

	const settled, rounds = 5, 50
	var early, late held
	for round := 1; round <= rounds; round++ {
		s.holdLease("administrator")
		r.demoted(round)
		s.holdLease("")
		r.reconciles()
		switch round {
		case settled:
			early = s.held(profiles)
		case rounds:
			late = s.held(profiles)
		}
	}
	s.Must(s.Kube.CoreV1().Services(namespace).Delete(t.Context(), "one", metav1.DeleteOptions{}))
	s.reconciled(namespace, "one") // the last term repairs
	if holder := ptr.Deref(s.lease().Spec.HolderIdentity, ""); holder != r.ID {
		t.Errorf("the Lease is held by %q", holder)
	}
	t.Logf("after %d demotions %d goroutines and %.1f MiB of heap, after %d of them %d and %.1f",
		settled, early.goroutines, early.heap, rounds, late.goroutines, late.heap)
	if late.goroutines > early.goroutines+20 || late.heap > 1.5*early.heap+4 {
		t.Errorf("demotions leave something behind:\n%s", s.profile(profiles, "/debug/pprof/goroutine?debug=1"))
	}
}

// held is what a process holds on to.
type held struct {
	goroutines int
	heap       float64 // MiB, after a collection
}

func (s *suite) held(profiles string) (h held) {
	s.Helper()
	// What ends with the last term takes a moment.
	var last int
	s.Eventually(func() error {
		text := s.profile(profiles, "/debug/pprof/goroutine?debug=1")
		before := last
		if _, err := fmt.Sscanf(text, "goroutine profile: total %d", &last); err != nil {
			return err
		}
		if last != before {
			return fmt.Errorf("%d goroutines, before %d", last, before)
		}
		return nil
	})
	h.goroutines = last
	text := s.profile(profiles, "/debug/pprof/heap?gc=1&debug=1")
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "# HeapAlloc = "); ok {
			bytes, err := strconv.ParseFloat(value, 64)
			s.Must(err)
			h.heap = bytes / (1 << 20)
		}
	}
	return h
}

func (s *suite) profile(at, path string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), framework.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+path, nil)
	s.Must(err)
	response, err := http.DefaultClient.Do(request)
	s.Must(err)
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	s.Must(err)
	return string(content)
}
