// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"strings"
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// gatedSuite has a change that waits for an approval.
func gatedSuite(t *testing.T, names ...string) *suite {
	t.Helper()
	b := newSuite(t, names...)
	b.p.Namespace, b.p.Name = "shop", "payments"
	b.p.Spec.Gates = []autorebootv1.Gate{{Name: "release", Type: autorebootv1.GateApproval}}
	b.change("new")
	b.decide()
	b.offered(b.after(time.Minute))
	return b
}

// approve sets the annotation, and decides.
func (b *suite) approve(token common.Token) Decision {
	if b.p.Annotations == nil {
		b.p.Annotations = map[string]string{}
	}
	b.p.Annotations[autorebootv1.ApproveAnnotation] = string(token)
	return b.after(time.Second)
}

// offered sees that a decision starts nothing, and returns what can be approved.
func (b *suite) offered(d Decision) common.Token {
	b.t.Helper()
	if len(d.Actions) > 0 || d.Status.PendingApproval == "" || !strings.Contains(d.PendingMessage, "kubectl fairlead approve rebootpolicy/payments --id="+string(d.Status.PendingApproval)+" -n shop") {
		b.t.Fatalf("actions %+v, offers %q: %s", d.Actions, d.Status.PendingApproval, d.PendingMessage)
	}
	return d.Status.PendingApproval
}

// told counts the messages of a reason, and forgets them.
func (b *suite) told(reason string) (n int) {
	for _, told := range b.messages {
		if told == reason {
			n++
		}
	}
	b.messages = slices.DeleteFunc(b.messages, func(told string) bool { return told == reason })
	return n
}

func TestAnApprovalStartsWhatItNamesOnce(t *testing.T) {
	b := gatedSuite(t)
	first := b.p.Status.PendingApproval
	b.offered(b.after(time.Hour))
	if n := b.told("ApprovalRequired"); n != 1 {
		t.Errorf("told %d times", n)
	}
	d := b.approve(first)
	if len(d.Actions) != 1 || d.Status.HandledApprove != first || d.Status.PendingApproval != "" || b.told("RestartApproved") != 1 {
		t.Fatalf("%+v", d)
	}
	b.record(d, Done)
	b.after(time.Minute)
	b.after(time.Hour) // it is verified
	b.advance(time.Hour)
	b.change("newer")
	b.decide()
	second := b.offered(b.after(time.Minute))
	if second == first {
		t.Error("two restarts have one approval")
	}
	// The approval before, taken away and set again as a tool does that has it in its manifest.
	delete(b.p.Annotations, autorebootv1.ApproveAnnotation)
	b.offered(b.decide())
	b.offered(b.approve(first))
	if d := b.approve(second); len(d.Actions) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestAnApprovalIsForNothingElse(t *testing.T) {
	for name, change := range map[string]func(b *suite){
		"another content":              func(b *suite) { b.change("newer") },
		"undone, and done again later": func(b *suite) { b.change("old"); b.after(time.Minute); b.change("new"); b.decide() },
		"another workload besides": func(b *suite) {
			w := b.workload(0)
			more := *w
			more.Name, more.UID = "b", "uid-b"
			more.Signals = slices.Clone(w.Signals)
			more.Signals[0].Fingerprint = "old"
			b.o.Workloads = append(b.o.Workloads, more)
			b.decide()
			b.workload(1).Signals[0].Fingerprint, b.workload(1).Signals[0].Written = "other", b.o.Now
			b.decide()
		},
		"a restart that is requested": func(b *suite) { b.requestRestart(0) },
		"the same workload, created again": func(b *suite) {
			b.workload(0).UID = "uid-2"
			b.decide()
			b.change("newest")
			b.decide()
		},
		"the same policy, created again": func(b *suite) { b.p.UID = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			b := gatedSuite(t)
			before := b.p.Status.PendingApproval
			change(b)
			b.advance(time.Minute)
			if after := b.offered(b.approve(before)); after == before || b.told(common.EventRequestIgnored) == 0 {
				t.Errorf("offers %s, before %s", after, before)
			}
			if d := b.approve(b.p.Status.PendingApproval); len(d.Actions) == 0 {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestAnApprovalHoldsUntilAllElseIsOpen(t *testing.T) {
	b := gatedSuite(t, "a", "b")
	b.o.Gates = []string{"gate db: closed"}
	d := b.approve(b.p.Status.PendingApproval)
	b.expectPending(d, 0, autorebootv1.ReasonGateClosed, 0)
	b.o.Gates, b.o.Others.Free = nil, 1
	d = b.after(time.Hour)
	if len(d.Actions) != 1 || b.p.Status.PendingApproval != "" {
		t.Fatalf("%+v", d)
	}
	// It changes again while the other one waits for its turn: that one is not what was approved.
	b.record(d, Done)
	b.change("newer")
	b.decide()
	b.o.Others.Free = 10
	d = b.after(5 * time.Minute)
	if p := b.target(1).Pending; p == nil || p.Reason != autorebootv1.ReasonApprovalRequired || d.Status.PendingApproval == "" {
		t.Errorf("%+v, offers %q", p, d.Status.PendingApproval)
	}
}

func TestARetryNeedsNoOtherApproval(t *testing.T) {
	b := gatedSuite(t)
	b.record(b.approve(b.p.Status.PendingApproval), Done)
	b.timeOut()
	if d := b.after(30 * time.Minute); len(d.Actions) != 1 {
		t.Fatalf("%s", d.PendingMessage)
	}
	b = gatedSuite(t)
	b.record(b.approve(b.p.Status.PendingApproval), Done)
	b.timeOut()
	b.change("newer")
	b.decide()
	b.offered(b.after(30 * time.Minute))
}

func TestNothingIsApprovedOrRefusedWhileASourceIsNotKnown(t *testing.T) {
	b := gatedSuite(t)
	token := b.p.Status.PendingApproval
	b.workload(0).Signals[0].Unknown = "Forbidden"
	b.workload(0).Signals[2].Firing = true // so that the source alone does not hold it
	if d := b.approve(token); len(d.Actions) > 0 || d.Status.HandledApprove != "" || d.Status.PendingApproval != token {
		t.Fatalf("%+v", d)
	}
	b.workload(0).Signals[0].Unknown, b.workload(0).Signals[2].Firing = "", false
	if d := b.decide(); len(d.Actions) > 0 || d.Status.HandledApprove != "" { // it might change once more
		t.Fatalf("%+v", d)
	}
	if d := b.after(time.Minute); len(d.Actions) != 1 || d.Status.HandledApprove != token {
		t.Errorf("%+v", d)
	}
}

func TestWithoutTheGateNothingIsOfferedOrApproved(t *testing.T) {
	b := gatedSuite(t)
	b.o.Gates = []string{"gate db: closed"}
	b.approve(b.p.Status.PendingApproval)
	gates := b.p.Spec.Gates
	b.p.Spec.Gates = nil
	if d := b.decide(); d.Status.PendingApproval != "" || b.target(0).Pending.ApprovedFingerprint != "" {
		t.Errorf("%+v", d.Status)
	}
	b.p.Spec.Gates, b.o.Gates = gates, nil
	b.offered(b.decide())
}

func TestAnApprovalOfNothingIsIgnored(t *testing.T) {
	b := newSuite(t)
	b.p.Spec.Gates = []autorebootv1.Gate{{Name: "release", Type: autorebootv1.GateApproval}}
	if d := b.approve("0123456789abcdef"); d.Status.HandledApprove != "0123456789abcdef" || b.told(common.EventRequestIgnored) != 1 {
		t.Errorf("%+v", d)
	}
	b.decide()
	if n := b.told(common.EventRequestIgnored); n != 0 {
		t.Errorf("told %d times more", n)
	}
}
