// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package crash

import (
	"fmt"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func TestALeaderThatIsCutOffLeavesItsRestartToTheNext(t *testing.T) {
	t.Parallel()
	for _, fault := range []fault{sever, late} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s := newWorkload(t, autorebootv1.StrategyRolloutRestart, "8s")
			election := s.election()
			g := s.newGateway()
			first := s.launch(g, election...)
			s.watched()
			second := s.launch(s.newGateway(), election...)
			s.Eventually(func() error { return second.Ready(t.Context()) })
			g.arm(charge{fault: fault, nth: 1, match: func(name string) bool { return name == "PATCH deployments" }})
			s.change("second")
			s.followed(g, first, second, func() error { return s.ended(1) })
			if fault == late {
				// What the first had sent says the same, or is refused since it knows less.
				if code := g.deliver(); code != 200 && code != 409 {
					t.Errorf("the API server responds to what came late with %d", code)
				}
			}
			s.Eventually(func() error {
				if n := s.told("RebootPolicy", "p")["RestartVerified"]; n != 1 {
					return fmt.Errorf("%d events RestartVerified, want 1: %v", n, s.told("RebootPolicy", "p"))
				}
				return nil
			})
			s.restarted(autorebootv1.StrategyRolloutRestart, 1)
		})
	}
}
