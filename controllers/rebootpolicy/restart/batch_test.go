// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// newCronJob is a CronJob whose restart is in the stored status.
func newCronJob(t *testing.T) (*suite, Decision) {
	t.Helper()
	b := newSuite(t, "web")
	b.workload(0).Kind, b.workload(0).RunsToEnd, b.workload(0).Pods = common.WorkloadCronJob, true, nil
	b.p.Status.Targets[0].Kind = common.WorkloadCronJob
	b.change("new")
	b.decide()
	d := b.after(time.Minute)
	if len(d.Actions) != 1 || d.Actions[0].Verb != Annotate {
		t.Fatalf("actions %+v: %s", d.Actions, d.PendingMessage)
	}
	return b, d
}

// What runs to an end is over once it has begun: there is nothing that has to stay, whatever its pods do.
func TestTheRestartOfACronJobEndsOnceItsJobIsThere(t *testing.T) {
	b, d := newCronJob(t)
	b.record(d, Done)
	b.workload(0).RestartID = "" // the CronJob itself says nothing
	if d = b.after(time.Second); len(d.Actions) > 0 || len(b.p.Status.InFlight) > 0 {
		t.Fatalf("actions %+v, in flight %+v", d.Actions, b.p.Status.InFlight)
	}
	if h := b.p.Status.History; len(h) != 1 || h[0].Result != autorebootv1.ResultSucceeded {
		t.Errorf("%+v", h)
	}
	if d = b.after(time.Hour); len(d.Actions) > 0 || len(b.p.Status.History) > 1 {
		t.Errorf("one change begins one Job: %+v", d.Actions)
	}
}

// A Job that carries the id was made, although nothing was recorded.
func TestTheRestartOfAJobIsFoundAgain(t *testing.T) {
	b, d := newCronJob(t)
	b.workload(0).RestartID = d.Actions[0].ID
	if d = b.after(time.Second); len(d.Actions) > 0 || len(b.p.Status.History) != 1 {
		t.Errorf("actions %+v, status %+v", d.Actions, b.p.Status)
	}
}

func TestARefusedRunWaitsAgain(t *testing.T) {
	b, d := newCronJob(t)
	b.record(d, Refused)
	if d = b.after(time.Second); len(d.Actions) > 0 || b.p.Status.Targets[0].Pending == nil || b.p.Status.Targets[0].Pending.Refusal == nil {
		t.Fatalf("actions %+v, status %+v", d.Actions, b.p.Status)
	}
	if d = b.after(refusedInterval); len(d.Actions) != 1 {
		t.Errorf("it is tried again: %s", d.PendingMessage)
	}
}
