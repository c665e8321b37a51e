// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/cron"
	"github.com/fairlead-dev/fairlead/internal/freeze"
)

// cautions are the rests of specs that fail back with more caution than lawRest.
var cautions = map[string]string{
	"a longer failbackDelay": strings.Replace(lawRest, "failbackDelay: 1m", "failbackDelay: 7m", 1),
	"failback by request":    strings.Replace(lawRest, "failbackDelay: 1m", "failback: Manual", 1),
}

// Law 7: with more caution no failback comes earlier, and none is added.
func TestLawMoreCautionFailsBackNoSooner(t *testing.T) {
	checkLaw(t, func(rt *rapid.T) {
		history := drawHistory(rt, "down", "down", "same", "restart", "nothing")
		caution := rapid.SampledFrom(slices.Sorted(maps.Keys(cautions))).Draw(rt, "caution")
		plain, cautious := timesOf(t, networkingv1.EventFailedBack, history, lawRest), timesOf(t, networkingv1.EventFailedBack, history, cautions[caution])
		requireNoSooner(rt, networkingv1.EventFailedBack, plain, cautious)
	})
}

// Law 7: with a blackout no fault begins earlier, and none is added.
func TestLawABlackoutBeginsNoFaultSooner(t *testing.T) {
	checkLaw(t, func(rt *rapid.T) {
		history := drawHistory(rt, "down", "fault", "fault", "restart", "nothing")
		from, lasts := rapid.IntRange(0, 10).Draw(rt, "from"), rapid.IntRange(1, 10).Draw(rt, "lasts")
		start := metav1.NewTime(bubbleEpoch.Add(time.Duration(from) * time.Minute))
		end := metav1.NewTime(start.Add(time.Duration(lasts) * time.Minute))
		frozen, err := freeze.New(freeze.Options{Configured: []cron.Blackout{{Name: "release", Start: &start, End: &end}}})
		if err != nil {
			t.Fatal(err)
		}
		held := timesOf(t, networkingv1.EventFaultInjected, history, lawRest, func(l *life) { l.freeze = frozen })
		requireNoSooner(rt, networkingv1.EventFaultInjected, timesOf(t, networkingv1.EventFaultInjected, history, lawRest), held)
		for _, at := range held {
			if at >= start.Sub(bubbleEpoch) && at < end.Sub(bubbleEpoch) {
				rt.Fatalf("a fault begins at %s, in the blackout from %s to %s", at, start, end)
			}
		}
	})
}

// timesOf returns when events of a reason were recorded in a history of an object with the rest of a spec.
func timesOf(t *testing.T, reason string, history []step, rest string, prepare ...func(*life)) (times []time.Duration) {
	liveFrom(t, time.Millisecond, rest+sameForms[0], history, func(l *life) {
		l.rest, l.inStep = rest, true
		for _, prepares := range prepare {
			prepares(l)
		}
		l.afterReconcile = func() {
			if slices.ContainsFunc(l.events, func(e string) bool { return strings.HasPrefix(e, reason+":") }) {
				times = append(times, time.Since(bubbleEpoch))
			}
			l.events = nil
		}
	})
	return times
}

// Law 7 has found this history, in which two addresses of different priorities are up again at the time of the same check.
func TestAHistoryAlwaysHasTheSameCourse(t *testing.T) {
	const checked = 3*time.Second + 427*time.Microsecond
	history := []step{
		{"down", 3, checked}, {"down", 2, 0}, {"down", 3, checked}, {"same", 5, 5 * time.Minute}, {"down", 1, checked / 10},
		{"down", 3, 5 * time.Minute}, {"down", 3, 10 * time.Millisecond}, {"down", 1, 0}, {"same", 5, checked / 10}, {"same", 5, checked},
	}
	first := timesOf(t, networkingv1.EventFailedBack, history, lawRest)
	for range 5 {
		if again := timesOf(t, networkingv1.EventFailedBack, history, lawRest); !slices.Equal(again, first) {
			t.Fatalf("it fails back at %v, and at %v in another life", first, again)
		}
	}
}

// requireNoSooner requires that what was done with more caution was done no sooner and no more often.
func requireNoSooner(rt *rapid.T, what string, plain, cautious []time.Duration) {
	for i, at := range cautious {
		if i >= len(plain) || at < plain[i] {
			rt.Fatalf("%s is at %v with more caution, and at %v without", what, cautious, plain)
		}
	}
}
