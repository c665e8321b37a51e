// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// always is a window, or a blackout, that never closes.
const always = `[{name: always, cron: "0 0 * * *", duration: 25h}]`

// far is a window of an hour, half a day away.
func far() (window string, opens time.Time) {
	opens = time.Now().UTC().Add(12 * time.Hour).Truncate(time.Hour)
	return fmt.Sprintf(`[{name: hour, cron: "0 %d * * *", duration: 1h}]`, opens.Hour()), opens
}

// waits wants a restart to wait for a reason, in words that name the window or blackout.
func (s *suite) waits(name, reason, words string) autorebootv1.RebootPolicyStatus {
	s.Helper()
	status := s.condition(name, autorebootv1.ConditionWaiting, metav1.ConditionTrue, reason)
	if c := meta.FindStatusCondition(status.Conditions, autorebootv1.ConditionWaiting); !strings.Contains(c.Message, words) {
		s.Errorf("%s: %q does not say %q", reason, c.Message, words)
	}
	return status
}

func TestARestartWaitsForItsWindowAndNoOtherWaitsForIt(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	window, opens := far()
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", windows: "+window+"}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	s.held("p", "web", autorebootv1.ReasonOutsideWindow)
	status := s.waits("p", autorebootv1.ReasonOutsideWindow, "when hour opens")
	if next := status.NextAllowedTime; next == nil || !next.Time.Equal(opens) {
		t.Errorf("nextAllowedTime is %v, want %s", next, opens)
	}
	s.normal("p")
	s.Kubectl("wait", "--for=condition=Ready", "--timeout="+framework.Patience.String(), "rebootpolicy/p")
	s.Row("rbp", "p", map[string]string{"READY": "True", "WAITING-FOR": autorebootv1.ReasonOutsideWindow, "NEXT-WINDOW": opens.Format(time.RFC3339)})
	s.Tells("RebootPolicy", "p", "RestartWaiting", 1)

	// A blackout wins over a window.
	s.set("p", "{windows: "+always+", blackouts: "+always+"}")
	s.held("p", "web", autorebootv1.ReasonBlackout)
	s.waits("p", autorebootv1.ReasonBlackout, "blackout always lasts")
	s.normal("p")
	s.restarted(deployment, "web", 0)
	s.set("p", "{blackouts: null}")
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
	if status := s.without("p", autorebootv1.ConditionWaiting); status.NextAllowedTime != nil {
		t.Errorf("nextAllowedTime is %s while a window is open", status.NextAllowedTime)
	}
}
