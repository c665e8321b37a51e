// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/cron"
)

// suite is an object and what is observed of its target, in the hands of a test.
type suite struct {
	t *testing.T
	p *chaosv1.ChaosPod
	o Observation
	// notices are the reasons of all that was told.
	notices []string
}

// newSuite has a ChaosPod that was made at noon, kills for real every ten minutes without jitter, targets
// one stable Deployment of four pods, and does not soak.
func newSuite(t *testing.T) *suite {
	t.Helper()
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	p := &chaosv1.ChaosPod{}
	p.Namespace, p.Name, p.UID, p.Generation, p.CreationTimestamp = "shop", "api", "0123abcd", 1, metav1.NewTime(noon)
	p.Spec.DryRun = ptr.To(false)
	p.Spec.Target.Workload = &common.WorkloadReference{Kind: common.WorkloadDeployment, Name: "api"}
	p.Spec.Schedule.Interval = "10m"
	p.Spec.Verification = &common.Verification{Soak: ptr.To(common.Duration("0s"))}
	b := &suite{t: t, p: p, o: Observation{Now: noon, Others: Others{Free: 10}}}
	b.o.Owners = []Owner{b.owner("api", 4)}
	b.decide()
	return b
}

func (s *suite) owner(name string, pods int) Owner {
	o := Owner{Kind: "Deployment", Name: name, UID: types.UID("uid-" + name), Desired: int32(pods)}
	for i := range pods {
		o.Pods = append(o.Pods, s.pod(fmt.Sprintf("%s-%d", name, i)))
	}
	return o
}

// pod is one that may die.
func (s *suite) pod(name string) Pod {
	born := s.o.Now.Add(-time.Hour)
	return Pod{Name: name, UID: types.UID("uid-" + name), Node: "n1", Created: born, Running: true, ReadySince: born, Selected: true, Protected: False, Cordoned: False, Covered: True}
}

// decide decides and stores.
// blackout has a blackout of the whole cluster, release.
func (s *suite) blackout(at common.Cron, lasts common.Duration) {
	s.t.Helper()
	of, err := cron.NewBlackouts([]cron.Blackout{{Name: "release", Cron: at, Duration: lasts}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.o.Schedule = ScheduleOf(s.p).With(of)
}

func (s *suite) decide() Decision {
	s.t.Helper()
	d := Decide(s.p, s.o)
	s.p.Status = d.Status
	for _, n := range d.Messages {
		s.notices = append(s.notices, n.Reason)
	}
	return d
}

func (s *suite) after(d time.Duration) Decision {
	s.t.Helper()
	s.o.Now = s.o.Now.Add(d)
	return s.decide()
}

// edit changes the spec.
func (s *suite) edit(change func(*chaosv1.ChaosPodSpec)) {
	change(&s.p.Spec)
	s.p.Generation++
}

// answer records what came of all actions.
func (s *suite) answer(d Decision, outcome Outcome) Decision {
	s.t.Helper()
	var results []Result
	for _, a := range d.Actions {
		results = append(results, Result{Action: a, Outcome: outcome})
	}
	r := Record(s.p, results, s.o.Now, s.o.Requests)
	s.p.Status = r.Status
	for _, n := range r.Messages {
		s.notices = append(s.notices, n.Reason)
	}
	return r
}

// kill runs until the first run's victims are dead, and takes them out of the view.
func (s *suite) kill() Decision {
	s.t.Helper()
	d := s.after(10 * time.Minute)
	if len(d.Actions) == 0 {
		s.t.Fatalf("nothing dies: %+v", s.p.Status)
	}
	r := s.answer(d, Done)
	for _, a := range d.Actions {
		s.remove(a.UID)
	}
	return r
}

func (s *suite) remove(uid types.UID) {
	for i := range s.o.Owners {
		var left []Pod
		for _, pod := range s.o.Owners[i].Pods {
			if pod.UID != uid {
				left = append(left, pod)
			}
		}
		s.o.Owners[i].Pods = left
	}
}

func (s *suite) reason(kind string) string {
	c := meta.FindStatusCondition(s.p.Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + "/" + c.Reason
}

func (s *suite) expectCondition(kind, reason string) {
	s.t.Helper()
	if got := s.reason(kind); got != reason {
		s.t.Errorf("%s is %q, want %q", kind, got, reason)
	}
}

// last is the run that ended last.
func (s *suite) last() chaosv1.Run {
	s.t.Helper()
	if len(s.p.Status.History) == 0 {
		s.t.Fatalf("no run has ended: %+v", s.p.Status)
	}
	return s.p.Status.History[0]
}

func (s *suite) outcomes() []chaosv1.VictimOutcome {
	var all []chaosv1.VictimOutcome
	if c := s.p.Status.CurrentRun; c != nil {
		for _, v := range c.Victims {
			all = append(all, v.Outcome)
		}
	}
	return all
}
