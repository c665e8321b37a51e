// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"strings"
	"testing"
	"time"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// An owner that replaces a pod only once it has ended has the timeout from then on.
func TestAVictimMayTakeItsOwnGracePeriod(t *testing.T) {
	for name, test := range map[string]struct {
		finalizer string
		result    string
		reason    string
	}{
		"it ends":              {"", chaosv1.ResultRecoveryFailed, chaosv1.ReasonRecoveryFailed},
		"a finalizer keeps it": {"example.com/drain", chaosv1.ResultFailed, chaosv1.ReasonTargetGone},
	} {
		b := newSuite(t)
		b.kill()
		v := b.p.Status.CurrentRun.Victims[0]
		ends := b.o.Now.Add(time.Hour)
		b.o.Owners[0].Pods = append(b.o.Owners[0].Pods, Pod{Name: v.Name, UID: v.UID, Terminating: true, Ends: ends, Finalizer: test.finalizer})
		if b.after(59 * time.Minute); b.p.Status.CurrentRun == nil {
			t.Fatalf("%s: within its grace period: %+v", name, b.last())
		}
		if b.after(time.Hour); b.p.Status.CurrentRun != nil {
			t.Fatalf("%s: it never ends", name)
		}
		if run := b.last(); run.Result != test.result || run.Reason != test.reason || test.finalizer != "" && !strings.Contains(run.Message, test.finalizer) {
			t.Errorf("%s: %+v", name, run)
		}
	}
}
