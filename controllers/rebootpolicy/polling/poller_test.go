// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package polling

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

var policy = types.NamespacedName{Namespace: "shop", Name: "p"}

// suite has questions that are evaluated as the test says.
type suite struct {
	*Poller[string]
	mu        sync.Mutex
	evaluated map[string]int
	notified  map[types.NamespacedName]int
	respond   func(ctx context.Context, question string) string
}

// run runs a test with a Poller that runs, in time that passes once all wait.
func run(t *testing.T, test func(s *suite)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &suite{evaluated: map[string]int{}, notified: map[types.NamespacedName]int{}, respond: func(context.Context, string) string { return "" }}
		s.Poller = New(Options[string]{
			Noun: "query", Done: "evaluated",
			Evaluate: func(ctx context.Context, question string) string {
				s.mu.Lock()
				s.evaluated[question]++
				respond := s.respond
				s.mu.Unlock()
				return respond(ctx, question)
			},
			Notify: func(policy types.NamespacedName) { s.notified[policy]++ }, // under the lock of the Poller
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		test(s)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (s *suite) responds(closed string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.respond = func(context.Context, string) string { return closed }
}

func TestAGateHasTheResultOfItsQuestion(t *testing.T) {
	run(t, func(s *suite) {
		if got := s.Closed(policy, "ALERTS"); got != "its query was not evaluated yet" {
			t.Errorf("before it was set: %q", got)
		}
		s.Set(policy, []string{"ALERTS"})
		synctest.Wait()
		if got := s.Closed(policy, "ALERTS"); got != "" || s.notified[policy] != 1 {
			t.Errorf("once it is open: %q, notified %d times", got, s.notified[policy])
		}
		for _, step := range []struct{ responds, closed string }{
			{"it returns results", "it returns results"},
			{"", ""},
			{"no route\n" + strings.Repeat("x", 1000), "no route; xxx"},
			{"", ""},
		} {
			s.responds(step.responds)
			before := s.notified[policy]
			<-time.After(Interval)
			synctest.Wait()
			got := s.Closed(policy, "ALERTS")
			if (got == "") != (step.closed == "") || !strings.Contains(got, step.closed) || len(got) > 400 {
				t.Errorf("closed by %q, want %q", got, step.closed)
			}
			if s.notified[policy] != before+1 {
				t.Errorf("%q: notified %d times", step.closed, s.notified[policy]-before)
			}
		}
		before := s.notified[policy]
		<-time.After(10 * Interval)
		if s.notified[policy] != before {
			t.Error("it notifies of a result that stays the same")
		}
	})
}

func TestAnOldResultOpensNothing(t *testing.T) {
	run(t, func(s *suite) {
		s.Set(policy, []string{"ALERTS"})
		synctest.Wait()
		s.mu.Lock()
		s.respond = func(ctx context.Context, _ string) string { // hangs without a deadline
			<-ctx.Done()
			return ctx.Err().Error()
		}
		s.mu.Unlock()
		<-time.After(MaxAge + Interval + time.Second)
		if got := s.Closed(policy, "ALERTS"); !strings.HasPrefix(got, "its query was last evaluated more than 45s ago") {
			t.Errorf("%q", got)
		}
	})
}

func TestPoliciesShareAResult(t *testing.T) {
	other := types.NamespacedName{Namespace: "bank", Name: "p"}
	run(t, func(s *suite) {
		s.Set(policy, []string{"ALERTS", "ALERTS"})
		s.Set(other, []string{"ALERTS"})
		synctest.Wait()
		if s.evaluated["ALERTS"] != 1 || s.notified[policy] != 1 || s.notified[other] != 1 {
			t.Errorf("evaluated %v, notified %v", s.evaluated, s.notified)
		}
		s.Set(policy, nil)
		s.Set(other, nil)
		<-time.After(Interval)
		synctest.Wait()
		evaluated := fmt.Sprint(s.evaluated)
		<-time.After(3 * Interval)
		if fmt.Sprint(s.evaluated) != evaluated || len(s.evaluations) != 0 {
			t.Errorf("evaluated without a policy: %v, then %v; %d results", evaluated, s.evaluated, len(s.evaluations))
		}
	})
}

func TestWhatIsEvaluatedIsBounded(t *testing.T) {
	run(t, func(s *suite) {
		for namespace := range MaxQuestions/MaxOfNamespace + 1 {
			for i := range 4 {
				var all []string
				for n := range 16 {
					all = append(all, fmt.Sprintf("up > %d.%d.%d", namespace, i, n))
				}
				s.Set(types.NamespacedName{Namespace: fmt.Sprintf("n%02d", namespace), Name: fmt.Sprint(i)}, all)
			}
		}
		<-time.After(2 * Interval)
		s.mu.Lock()
		clear(s.evaluated) // some were before the last policy was set
		s.mu.Unlock()
		<-time.After(Interval)
		synctest.Wait()
		if len(s.evaluated) != MaxQuestions || len(s.evaluations) != MaxQuestions {
			t.Errorf("%d queries were evaluated, %d have results", len(s.evaluated), len(s.evaluations))
		}
		if open := s.Closed(types.NamespacedName{Namespace: "n00", Name: "0"}, "up > 0.0.0"); open != "" {
			t.Error(open)
		}
		if closed := s.Closed(types.NamespacedName{Namespace: "n00", Name: "3"}, "up > 0.3.15"); !strings.HasPrefix(closed, "its query is not evaluated: the limit is 50") {
			t.Errorf("the 64th of a namespace: %q", closed)
		}
	})
}

// The server is slow to answer the queries of two namespaces. Each namespace has the most queries that it may. One of them also
// has a query of another namespace, so as to delay it.
func TestSlowQueriesOfOneNamespaceCloseNoGateOfAnother(t *testing.T) {
	run(t, func(s *suite) {
		s.mu.Lock()
		s.respond = func(ctx context.Context, question string) string {
			if strings.HasPrefix(question, "slow") {
				<-time.After(5 * time.Second)
				return "the Prometheus server did not answer within 5s"
			}
			<-time.After(100 * time.Millisecond)
			return ""
		}
		s.mu.Unlock()
		for _, slow := range []string{"a", "z"} {
			for i := range 4 {
				var all []string
				for n := range 14 {
					all = append(all, fmt.Sprintf("slow %s %d %d", slow, i, n))
				}
				s.Set(types.NamespacedName{Namespace: slow, Name: fmt.Sprint(i)}, append(all, "fast 0"))
			}
		}
		for i := range 30 {
			s.Set(types.NamespacedName{Namespace: fmt.Sprintf("team-%d", i), Name: "p"}, []string{fmt.Sprintf("fast %d", i)})
		}
		<-time.After(20 * time.Second)
		for second := range 240 {
			<-time.After(time.Second)
			for i := range 30 {
				closed := s.Closed(types.NamespacedName{Namespace: fmt.Sprintf("team-%d", i), Name: "p"}, fmt.Sprintf("fast %d", i))
				if closed != "" {
					t.Fatalf("after %d s, the gate of team-%d is closed: %s", second+20, i, closed)
				}
			}
		}
		if closed := s.Closed(types.NamespacedName{Namespace: "a", Name: "0"}, "slow a 0 0"); closed == "" {
			t.Error("a query without an answer opens its gate")
		}
	})
}
