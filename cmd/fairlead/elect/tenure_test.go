// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/internal/leaderelection"
)

func TestOrdersFollowTheTimeSinceTheLastRenewal(t *testing.T) {
	var now time.Duration
	tenure := newTenure(func() time.Duration { return now }, 10*time.Second, 3*time.Second)
	if got, _ := tenure.due(); got != kill {
		t.Errorf("before any renewal: %v", got)
	}
	tenure.extend(100 * time.Second)
	tenure.extend(90 * time.Second) // an answer that comes late shortens nothing
	for _, test := range []struct {
		at   time.Duration
		want order
		wait time.Duration
	}{
		{100 * time.Second, goOn, 10 * time.Second},
		{110*time.Second - 1, goOn, 1},
		{110 * time.Second, terminate, 3 * time.Second},
		{113*time.Second - 1, terminate, 1},
		{113 * time.Second, kill, 0},
		{time.Hour, kill, 0},
	} {
		now = test.at
		if got, wait := tenure.due(); got != test.want || wait != test.wait {
			t.Errorf("at %s: %v, nothing for %s; want %v, %s", test.at, got, wait, test.want, test.wait)
		}
	}
}

// scripted responds to writes with an error or none, after the clock has moved.
type scripted struct {
	coordinationv1client.LeaseInterface
	write func() error
}

func (s scripted) Leases(string) coordinationv1client.LeaseInterface { return s }

func (s scripted) Create(_ context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return lease, s.write()
}

func (s scripted) Update(_ context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return lease, s.write()
}

func TestARenewalCountsFromWhenItWasSentAndOnlyIfItSucceeds(t *testing.T) {
	now := 100 * time.Second
	var fails error
	tenure := newTenure(func() time.Duration { return now }, 10*time.Second, 3*time.Second)
	client := noting{scripted{write: func() error { now += 4 * time.Second; return fails }}, "a", tenure, newRefusals("default/turn", elapsed)}.Leases("default")
	lease := func(holder string) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder)}}
	}
	wants := func(what string, deadline time.Duration) {
		t.Helper()
		if got := tenure.deadline(); got != deadline {
			t.Errorf("%s: dead by %s, want %s", what, got, deadline)
		}
	}
	_, _ = client.Create(t.Context(), lease("a"), metav1.CreateOptions{})
	wants("taken", 113*time.Second)
	_, _ = client.Update(t.Context(), lease("a"), metav1.UpdateOptions{})
	wants("renewed", 117*time.Second)
	_, _ = client.Update(t.Context(), lease(""), metav1.UpdateOptions{})
	wants("released", 117*time.Second)
	fails = errors.New("no answer")
	_, _ = client.Update(t.Context(), lease("a"), metav1.UpdateOptions{})
	wants("not renewed", 117*time.Second)
}

func TestALeaseOfAnothersLeavesNoGraceAndAFailedRenewalDoes(t *testing.T) {
	for want, cause := range map[order]error{
		kill:      fmt.Errorf("%w: %w", leaderelection.ErrLost, leaderelection.ErrTaken),
		terminate: fmt.Errorf("%w: not renewed", leaderelection.ErrLost),
		goOn:      context.Canceled,
	} {
		if got := demanded(cause); got != want {
			t.Errorf("%v: %v, want %v", cause, got, want)
		}
	}
}

func TestDurationsUnderWhichTheCommandCouldOutliveTheLeaseAreRefused(t *testing.T) {
	for _, test := range []struct {
		lease, renew, grace time.Duration
		want                string
	}{
		{15 * time.Second, 10 * time.Second, 4 * time.Second, ""},
		{15 * time.Second, 10 * time.Second, 0, ""},
		{15 * time.Second, 10 * time.Second, 4*time.Second + 1, "grace of at most 4s"},
		{15 * time.Second, 14500 * time.Millisecond, 0, "margin"},
		{15 * time.Second, 10 * time.Second, -1, "below 0"},
		{15 * time.Second, 15 * time.Second, 0, "renew deadline"},
	} {
		o := Options{
			Leases: scripted{}, Namespace: "default", Name: "turn", Identity: "a", Command: []string{"true"},
			LeaseDuration: test.lease, RenewDeadline: test.renew, RetryPeriod: time.Second, Grace: test.grace,
		}
		_, err := New(o)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: error %v", test, err)
		}
	}
}

// A watchman runs under a fake clock that may also be moved while all timers stand
// still, as in the sleep of a machine.
func TestTheWatchmanKillsAtTheDeadlineAtTheEndOfOrdersAndAfterASleep(t *testing.T) {
	for name, test := range map[string]struct {
		lines string        // the orders
		wait  time.Duration // then
		sleep time.Duration // of the machine, then
		more  time.Duration // then
		end   bool
		want  string
	}{
		"before the deadline": {"7 10000000000\n", 10*time.Second - 1, 0, 0, false, "[]"},
		"at the deadline":     {"7 10000000000\n", 10 * time.Second, 0, 0, false, "[7]"},
		"once":                {"7 10000000000\n", time.Minute, 0, 0, true, "[7]"},
		"renewed":             {"7 10000000000\n7 20000000000\n", 20*time.Second - 1, 0, 0, false, "[]"},
		"stood down":          {"7 10000000000\n0 0\n", time.Minute, 0, 0, true, "[]"},
		"never told":          {"", time.Minute, 0, 0, true, "[]"},
		"orders end":          {"7 10000000000\n", time.Second, 0, 0, true, "[7]"},
		"a sleep":             {"7 10000000000\n", time.Second, time.Hour, beat, false, "[7]"},
		"never everybody":     {"1 10000000000\n", time.Minute, 0, 0, true, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, slept, killed := time.Now(), time.Duration(0), []int{}
				w := watchman{now: func() time.Duration { return time.Since(began) + slept }, kill: func(group int) { killed = append(killed, group) }}
				orders := newLines(test.lines)
				done := make(chan error, 1)
				go func() { done <- w.run(orders) }()
				synctest.Wait()
				<-time.After(test.wait)
				synctest.Wait()
				slept = test.sleep
				<-time.After(test.more)
				synctest.Wait()
				if test.end {
					close(orders.over)
					synctest.Wait()
				}
				if got := fmt.Sprint(killed); got != test.want {
					t.Errorf("killed %s, want %s", got, test.want)
				}
				if !test.end {
					close(orders.over)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAWatchmanThatIsToldNonsenseKillsAndSaysSo(t *testing.T) {
	var killed []int
	w := watchman{now: func() time.Duration { return 0 }, kill: func(group int) { killed = append(killed, group) }}
	err := w.run(strings.NewReader("7 10000000000\nwhat\n"))
	if err == nil || !strings.Contains(err.Error(), `"what"`) || len(killed) != 1 {
		t.Errorf("error %v, killed %v", err, killed)
	}
}

// lines is a reader that returns a text, and then waits for the end.
type lines struct {
	*strings.Reader
	over chan struct{}
}

func newLines(text string) *lines { return &lines{strings.NewReader(text), make(chan struct{})} }

func (l *lines) Read(p []byte) (int, error) {
	if l.Len() == 0 {
		<-l.over
	}
	return l.Reader.Read(p)
}
