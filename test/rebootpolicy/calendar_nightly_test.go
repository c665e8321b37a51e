// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"slices"
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestAScheduleRestartsOnceEachTimeItFires(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run(deployment, "web", bare)
	began := time.Now()
	s.policy("p", "{"+targets(deployment, "web")+`, triggers: [{name: often, type: Schedule, schedule: {cron: "* * * * *", timeZone: Europe/Zurich}}]}`)
	s.watching("p", 1)
	s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		if len(st.History) == 0 {
			return fmt.Errorf("it has not fired yet")
		}
		return nil
	})
	// The next minute may be here already.
	policy, err := s.get("p")
	s.Must(err)
	first := policy.Status.History[len(policy.Status.History)-1]
	if first.Result != autorebootv1.ResultSucceeded || !slices.Equal(first.Triggers, []string{"often"}) {
		t.Errorf("the first run: %s", framework.Text(first))
	}
	if first.StartTime.Time.Before(began.Truncate(time.Minute).Add(time.Minute)) {
		t.Errorf("created at %s, and fired at %s, before any minute had begun", began, first.StartTime)
	}
	n := s.read(deployment, "web").GetGeneration() - 1
	if minutes := int64(time.Now().Truncate(time.Minute).Sub(began.Truncate(time.Minute)) / time.Minute); n < 1 || n > minutes {
		t.Errorf("%d restarts in %d minutes", n, minutes)
	}
}
