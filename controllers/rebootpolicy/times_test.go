// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/cron"
	"github.com/fairlead-dev/fairlead/internal/freeze"
)

// newFreeze is a blackout of the cluster.
func newFreeze(t *testing.T, start, end time.Time) *freeze.Freeze {
	t.Helper()
	f, err := freeze.New(freeze.Options{Configured: []cron.Blackout{{Name: "year-end", Start: &metav1.Time{Time: start}, End: &metav1.Time{Time: end}}}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestABlackoutOfTheClusterHoldsARestartAndSaysUntilWhen(t *testing.T) {
	for name, spec := range map[string]string{
		"a policy without a calendar":        "",
		"inside a window, with restart-now":  `windows: [{name: always, cron: "0 0 * * *", duration: 25h}]` + "\n",
		"a blackout of its own that is over": `blackouts: [{name: new-year, cron: "0 0 1 1 *", duration: 1h}]` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, config+spec, deployment("api", 2, nil)...)
			begins, ends := s.now.Add(10*time.Minute), s.now.Add(50*time.Hour)
			s.Freeze = newFreeze(t, begins, ends)
			result := s.reconcile()
			if at := s.now.Add(result.RequeueAfter); result.RequeueAfter == 0 || at.After(begins.Add(time.Second)) {
				t.Errorf("looks again at %s, a blackout begins at %s", at, begins)
			}
			s.advance(11 * time.Minute)
			s.changeSource("Secret/creds", "hmac:2")
			s.edit(func(p *autorebootv1.RebootPolicy) {
				p.Annotations[autorebootv1.RestartNowAnnotation] = "now"
				approve(p)
			})
			s.reconcile()
			s.advance(time.Minute)
			result = s.reconcile()
			s.expectActions()
			s.expectCondition(autorebootv1.ConditionWaiting, "True Blackout")
			words := "the cluster's blackout year-end ends at " + ends.UTC().Format(time.RFC3339)
			for _, kind := range []string{autorebootv1.ConditionWaiting, autorebootv1.ConditionReady} {
				if c := meta.FindStatusCondition(s.object().Status.Conditions, kind); !strings.Contains(c.Message, words) {
					t.Errorf("%s: %q, want %q", kind, c.Message, words)
				}
			}
			if at := s.object().Status.NextAllowedTime; at == nil || !at.Time.Equal(ends) {
				t.Errorf("next allowed time %v, want %s", at, ends)
			}
			if at := s.now.Add(result.RequeueAfter); result.RequeueAfter == 0 || at.After(ends.Add(time.Second)) {
				t.Errorf("looks again at %s, the blackout ends at %s", at, ends)
			}
			s.expectNoWrite("within the blackout")
			s.now = ends
			s.reconcile()
			s.expectActions("Annotate api " + theRestart)
		})
	}
}

func TestNothingRestartsWhileTheBlackoutsOfTheClusterAreNotKnown(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	unread, err := freeze.New(freeze.Options{Name: "fairlead-calendar"})
	s.must(err)
	s.Freeze = unread
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	s.reconcile()
	s.expectActions()
	s.expectCondition(autorebootv1.ConditionWaiting, "True Blackout")
	if c := meta.FindStatusCondition(s.object().Status.Conditions, autorebootv1.ConditionWaiting); !strings.Contains(c.Message, "ConfigMap fairlead-calendar was not read yet") {
		t.Errorf("%q", c.Message)
	}
}

func TestAScheduleIsNotRunAgainWhereTheClockIsSetBack(t *testing.T) {
	const nightly = `targets: [{kind: Deployment, name: api}]
triggers: [{name: nightly, type: Schedule, schedule: {cron: "0 3 * * *"}}]
cooldown: 0s
verification: {soak: 1s}
`
	at := func(day, hour, minute int) time.Time {
		return time.Date(2026, time.March, day, hour, minute, 0, 0, time.UTC)
	}
	for name, c := range map[string]struct{ first, back, next time.Time }{
		"by an hour": {at(3, 3, 10), at(3, 2, 10), at(3, 3, 5)},
		"by a year":  {at(2, 3, 10).AddDate(1, 0, 0), at(3, 2, 10), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, nightly, deployment("api", 2, nil)...)
			s.reconcile()
			run := func(now time.Time, want int) {
				t.Helper()
				s.now = now
				for range 3 {
					s.reconcile()
					s.completeRollout("api")
					s.advance(2 * time.Second)
				}
				s.reconcile()
				if got := len(s.doer.done); got != want {
					t.Errorf("%s: %d restarts, want %d", now, got, want)
				}
			}
			run(c.first, 1)
			run(c.back, 1)
			if !c.next.IsZero() {
				run(c.next, 1)
			}
			run(at(4, 3, 10), 2)
		})
	}
}
