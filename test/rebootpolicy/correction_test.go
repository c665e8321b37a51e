// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// TestNewContentIsHeldByNoFailureOfThePreviousContent has one policy that has halted, and one whose retry is an hour away.
func TestNewContentIsHeldByNoFailureOfThePreviousContent(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	for _, name := range []string{"halted", "delayed", "next"} {
		s.run(deployment, name, takes("creds"))
	}
	const soak = "verification: {soak: 15s, timeout: 2m}, cooldown: 1h"
	s.policy("h", `{targets: [{kind: Deployment, name: halted}, {kind: Deployment, name: next, wave: 1}], `+onConfig+", "+soak+"}")
	s.policy("d", "{"+targets(deployment, "delayed")+", "+onConfig+", retry: {maxAttempts: 3, backoff: 1h}, "+soak+"}")
	s.watching("h", 2)
	s.watching("d", 1)
	s.secret("creds", "password", "second")
	for policy, name := range map[string]string{"h": "halted", "d": "delayed"} {
		s.rolling(policy, autorebootv1.PhaseSoaking)
		for _, pod := range s.pods(name) {
			s.Merge("v1", "Pod", pod.Name, "{metadata: {labels: {fault: unready}}}")
		}
	}
	s.held("h", "halted", autorebootv1.ReasonHalted)
	s.held("h", "next", autorebootv1.ReasonHalted)
	s.held("d", "delayed", autorebootv1.ReasonBackoff)

	s.secret("creds", "password", "third")
	const message = "for new content of Secret/creds; the failed restart was for the previous content"
	for policy, n := range map[string]int{"h": 3, "d": 2} {
		history := s.ended(policy, n)
		if first := history[n-1]; first.Result != autorebootv1.ResultFailed {
			t.Errorf("%s: want it Failed: %s", policy, framework.Text(first))
		}
		if second := history[n-2]; second.Result != autorebootv1.ResultSucceeded || !strings.Contains(second.Message, message) || second.Target != history[n-1].Target {
			t.Errorf("%s: want it Succeeded, and %q: %s", policy, message, framework.Text(second))
		}
		s.without(policy, autorebootv1.ConditionStalled)
	}
	for name, times := range map[string]int{"halted": 2, "delayed": 2, "next": 1} {
		s.restarted(deployment, name, times)
	}
}
