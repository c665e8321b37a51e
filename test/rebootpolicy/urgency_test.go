// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// An urgent change restarts all targets at once while no window is open. Any other change waits, also for its turn.
func TestAnUrgentChangeWaitsForNoWindowAndNoTurn(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	window, _ := far()
	s.secret("login", "password", "first")
	s.secret("usual", "password", "first")
	for _, name := range []string{"web", "api"} {
		s.run(deployment, name, bare)
	}
	s.policy("p", `{concurrency: {maxTargets: 1}, windows: `+window+`,
		targets: [{kind: Deployment, name: web}, {kind: Deployment, name: api, wave: 1}], triggers: [
		{name: usual, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: usual}]}},
		{name: login, urgency: Urgent, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: login}]}}]}`)
	s.watching("p", 2)
	s.secret("usual", "password", "second")
	s.held("p", "web", autorebootv1.ReasonOutsideWindow)
	s.secret("login", "password", "second")
	history := s.succeeded("p", 2)
	for _, record := range history {
		if !strings.Contains(record.Message, "urgent") {
			t.Errorf("the record does not say that it was urgent: %+v", record)
		}
	}
	if first, second := history[0], history[1]; first.StartTime.Sub(second.StartTime.Time).Abs().Seconds() > 1 {
		t.Errorf("they did not start at once: %s and %s", first.StartTime, second.StartTime)
	}
	for _, name := range []string{"web", "api"} {
		s.restarted(deployment, name, 1)
	}
}
