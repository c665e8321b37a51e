// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// suite is a policy that is stored after each decision, and what it observes.
type suite struct {
	t *testing.T
	p *autorebootv1.RebootPolicy
	o Observation
	// messages are the notices so far.
	messages []string
}

// newSuite has one Deployment that the policy has seen: quiet, whole and with two old pods.
func newSuite(t *testing.T, names ...string) *suite {
	t.Helper()
	p := &autorebootv1.RebootPolicy{}
	p.UID, p.Generation = "0123abcd-4567", 1
	p.Spec.Triggers = []autorebootv1.Trigger{
		{Name: "config", Type: autorebootv1.TriggerConfigChange}, {Name: "tick", Type: autorebootv1.TriggerSchedule},
		{Name: "probe", Type: autorebootv1.TriggerProbe},
	}
	d := func(s common.Duration) *common.Duration { return &s }
	p.Spec.Cooldown, p.Spec.Debounce = d("10m"), &autorebootv1.Debounce{QuietPeriod: d("15s"), MaxDelay: d("5m")}
	p.Spec.Verification = &autorebootv1.Verification{Verification: common.Verification{Soak: d("2m")}}
	b := &suite{t: t, p: p, o: Observation{Now: noon(), Calendar: Calendar{Window: true, NextOpen: noon(), BlackoutEnds: noon()}, Others: Others{Free: 10}}}
	if len(names) == 0 {
		names = []string{"api"}
	}
	for _, name := range names {
		b.o.Workloads = append(b.o.Workloads, Workload{
			Workload: workloads.Workload{
				Kind: common.WorkloadDeployment, Name: name, UID: types.UID("uid-" + name), Generation: 1, Desired: 2,
				Complete: true, Updated: true, Available: true, Outdated: new(int32),
			},
			Pods: []Pod{
				{Name: name + "-1", Created: noon().Add(-time.Hour), Ready: true},
				{Name: name + "-2", Created: noon().Add(-time.Hour), Ready: true},
			},
			Signals: []Signal{{Trigger: "config", Source: "Secret/creds", Fingerprint: "old", Written: noon().Add(-2 * time.Hour)}, {Trigger: "tick", Fingerprint: "monday"}, {Trigger: "probe", Level: true}},
		})
	}
	b.decide()
	if len(b.messages) > 0 {
		t.Fatalf("the first observation has messages: %v", b.messages)
	}
	return b
}

func (b *suite) workload(i int) *Workload { return &b.o.Workloads[i] }

func (b *suite) target(i int) *autorebootv1.TargetStatus { return &b.p.Status.Targets[i] }

func (b *suite) advance(d time.Duration) {
	b.o.Now = b.o.Now.Add(d)
	if b.o.Calendar.Blackout == "" {
		b.o.Calendar.BlackoutEnds = b.o.Now
	}
}

// change writes the source of every workload.
func (b *suite) change(fingerprint string) {
	for i := range b.o.Workloads {
		b.o.Workloads[i].Signals[0].Fingerprint = fingerprint
		b.o.Workloads[i].Signals[0].Written = b.o.Now.Truncate(time.Second)
	}
}

// requestRestart sets the annotation that requests a restart, as one workload sees it.
func (b *suite) requestRestart(i int) {
	b.p.Annotations = map[string]string{autorebootv1.RestartNowAnnotation: "token"}
	b.workload(i).Signals = append(b.workload(i).Signals, Signal{Trigger: autorebootv1.RestartNowTrigger, Fingerprint: "token"})
}

func (b *suite) store(d Decision) Decision {
	b.p.Status = d.Status
	for _, n := range d.Messages {
		b.messages = append(b.messages, n.Reason)
	}
	return d
}

func (b *suite) decide() Decision { return b.store(Decide(b.p, b.o)) }

// after lets time pass, and decides.
func (b *suite) after(d time.Duration) Decision {
	b.advance(d)
	return b.decide()
}

// record returns what came of the actions.
func (b *suite) record(d Decision, outcome Outcome) Decision {
	results := make([]Result, 0, len(d.Actions))
	for _, a := range d.Actions {
		r := Result{Action: a, Outcome: outcome}
		if a.Verb == Annotate && outcome == Done {
			a.Workload.Generation++
			if a.Workload.Kind != common.WorkloadRollout { // which has its spec.restartAt
				a.Workload.RestartID = a.ID
			}
			r.Generation = a.Workload.Generation
		}
		results = append(results, r)
	}
	return b.store(Record(b.p, results, b.o.Now, b.o.Requests))
}

// start changes the source, waits, and lets the restart begin.
func (b *suite) start() {
	b.t.Helper()
	b.change("new at " + b.o.Now.String())
	b.decide()
	d := b.after(time.Minute)
	if len(d.Actions) == 0 {
		b.t.Fatalf("nothing starts: %s", d.PendingMessage)
	}
	b.record(d, Done)
}

// timeOut lets the restart in flight time out.
func (b *suite) timeOut() Decision {
	b.workload(0).Complete, b.workload(0).Available = false, false
	return b.after(15 * time.Minute)
}

// expectPending sees that a target waits for a reason, and until when nothing else is due.
func (b *suite) expectPending(d Decision, i int, reason string, again time.Duration) {
	b.t.Helper()
	pending := b.target(i).Pending
	if pending == nil || pending.Reason != reason {
		b.t.Errorf("pending is %+v, want %s", pending, reason)
	}
	var want time.Time
	if again > 0 {
		want = b.o.Now.Add(again)
	}
	if !d.RequeueAt.Equal(want) {
		b.t.Errorf("again at %s, want %s", d.RequeueAt, want)
	}
	if reason != "" && d.PendingMessage == "" {
		b.t.Error("no message")
	}
}

func stampOf(t time.Time) *metav1.Time {
	stamp := metav1.NewTime(t)
	return &stamp
}
