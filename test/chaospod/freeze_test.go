// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// It runs while no other test does: it holds the chaos of all.
func TestAFreezeOfTheClusterHoldsChaosUntilItIsTakenBack(t *testing.T) {
	s := newSerialSuite(t)
	s.run("web", 3, "")
	// The schedule is due every day, and not while the test lasts.
	s.chaos("c", fmt.Sprintf(`dryRun: false, %s, schedule: {cron: "0 %d * * *"}, filter: {minAge: 0s}`, web, (time.Now().UTC().Hour()+12)%24))
	ends := time.Now().UTC().Add(48 * time.Hour).Truncate(time.Second)
	freeze := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: framework.Namespace, Name: "fairlead-calendar"},
		Data:       map[string]string{"blackouts": fmt.Sprintf("- {name: year-end, start: 2020-01-01T00:00:00Z, end: %s}", ends.Format(time.RFC3339))},
	}
	s.Must(s.Client.Create(t.Context(), freeze))
	defer func() { _ = s.Client.Delete(context.WithoutCancel(t.Context()), freeze) }()
	next := func(within bool) {
		s.Helper()
		s.shows("c", func(st *chaosv1.ChaosPodStatus) error {
			if st.NextRunTime == nil || st.NextRunTime.Time.Before(ends) != within {
				return fmt.Errorf("the next run is due at %s, and the freeze ends at %s", st.NextRunTime, ends)
			}
			return nil
		})
	}
	next(false)
	before := s.pods("web")
	s.now("c", "1")
	held := func() {
		s.Helper()
		words := "blackout year-end lasts until " + ends.Format(time.RFC3339)
		if c := s.condition("c", chaosv1.ConditionWaiting, metav1.ConditionTrue, chaosv1.ReasonBlackout); !strings.Contains(c.Message, words) {
			t.Errorf("says %q, want %q", c.Message, words)
		}
	}
	held()
	s.told("ChaosPod", "c", "ChaosWaiting")
	// Another spec has it look again.
	s.Merge(chaosv1.GroupVersion.String(), "ChaosPod", "c", "{spec: {safety: {maxPerDay: 7}}}")
	held()
	s.shows("c", func(st *chaosv1.ChaosPodStatus) error {
		if st.CurrentRun != nil || len(st.History) > 0 {
			t.Fatalf("a run began within a freeze:\n%s", framework.Text(st))
		}
		return nil
	})
	if died := gone(before, s.pods("web")); len(died) > 0 {
		t.Fatalf("killed %q", died)
	}

	s.Must(client.IgnoreNotFound(s.Client.Delete(t.Context(), freeze)))
	s.ended("c", 1, chaosv1.ResultSurvived)
	if died := gone(before, s.pods("web")); len(died) != 1 {
		t.Errorf("killed %q", died)
	}
	s.shows("c", func(st *chaosv1.ChaosPodStatus) error {
		if !meta.IsStatusConditionFalse(st.Conditions, chaosv1.ConditionWaiting) {
			return errors.New("still held")
		}
		return nil
	})
	next(true)
}
