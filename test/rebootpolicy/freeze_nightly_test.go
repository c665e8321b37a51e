// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// It runs while no other test does: it holds the restarts of all.
func TestAFreezeOfTheClusterHoldsRestartsUntilItIsTakenBack(t *testing.T) {
	s := newSuite(t)
	defer s.thaw()
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+"}")
	s.watching("p", 1)

	ends := time.Now().UTC().Add(48 * time.Hour).Truncate(time.Second)
	declared := fmt.Sprintf("- {name: on, start: 2020-01-01T00:00:00Z, end: %s}", ends.Format(time.RFC3339))
	words := "the cluster's blackout on ends at " + ends.Format(time.RFC3339)
	s.freeze(declared)
	s.explains("p", autorebootv1.ConditionReady, words)
	s.secret("creds", "password", "second")
	s.held("p", "web", autorebootv1.ReasonBlackout)
	s.explains("p", autorebootv1.ConditionWaiting, words)
	if next := s.condition("p", autorebootv1.ConditionReady, metav1.ConditionTrue, autorebootv1.ReasonWatching).NextAllowedTime; next == nil || !next.Time.Equal(ends) {
		t.Errorf("nextAllowedTime is %v, want %s", next, ends)
	}
	s.normal("p")

	// A mistake in it ends no freeze, and neither does another one after it.
	for _, mistake := range []struct{ declared, words string }{
		{"- {name: year-end, until: tomorrow}", `unknown field "until"`},
		{"- {name: year-end}", "needs either start and end, or cron and duration"},
	} {
		s.freeze(mistake.declared)
		s.Eventually(func() error {
			var list eventsv1.EventList
			if err := s.Client.List(s.Context(), &list, client.InNamespace(framework.Namespace)); err != nil {
				return err
			}
			for _, event := range list.Items {
				if event.Reason == "CalendarUnreadable" && event.Regarding.Name == "fairlead-calendar" && strings.Contains(event.Note, mistake.words) {
					return nil
				}
			}
			return fmt.Errorf("no Event CalendarUnreadable on the ConfigMap says %s", mistake.words)
		})
	}
	if figures := s.Figures(); !strings.Contains(figures, "fairlead_calendar_readable 0\n") || !strings.Contains(figures, "fairlead_calendar_blackout 1\n") {
		t.Errorf("the metrics do not say that the calendar cannot be read, and that a blackout holds:\n%s", figures)
	}
	s.Never(func() error {
		if n := s.read(deployment, "web").GetGeneration(); n != 1 {
			return fmt.Errorf("restarted within a freeze: generation %d", n)
		}
		return nil
	})
	s.explains("p", autorebootv1.ConditionWaiting, words)

	s.thaw()
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
	if status := s.without("p", autorebootv1.ConditionWaiting); status.NextAllowedTime != nil {
		t.Errorf("nextAllowedTime is %s once the freeze was taken back", status.NextAllowedTime)
	}
}
