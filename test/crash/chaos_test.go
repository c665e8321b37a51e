// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package crash

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// sometime has runs begin by run-now alone.
const sometime = `dryRun: false, schedule: {cron: "0 0 29 2 *"}, historyLimit: 50, filter: {minAge: 0s}, safety: {maxPerDay: 500}, verification: {timeout: 4m, soak: 0s}`

// chaos is a ChaosPod of a test.
type chaos struct {
	*suite
	name string
	// ids are the runs that have ended, and died how many pods did in them.
	ids  map[string]bool
	died int
}

func (s *suite) chaos(name, spec string) *chaos {
	s.Helper()
	s.Make(fmt.Sprintf("{apiVersion: %s, kind: ChaosPod, metadata: {name: %s}, spec: {%s, %s}}", chaosv1.GroupVersion, name, sometime, spec))
	return &chaos{suite: s, name: name, ids: map[string]bool{}}
}

func (c *chaos) status() *chaosv1.ChaosPodStatus {
	c.Helper()
	var object chaosv1.ChaosPod
	c.Must(c.Get(c.name, &object))
	return &object.Status
}

// edit merges YAML into the ChaosPod. A webhook that was too late on a busy machine is called again.
func (c *chaos) edit(patch string) {
	c.Helper()
	c.Must(framework.Retry(func() error { return c.TryMerge(chaosv1.GroupVersion.String(), "ChaosPod", c.name, patch) }))
}

// runs asks for a run, which is the nth.
func (c *chaos) runs(n int) {
	c.edit(fmt.Sprintf("{metadata: {annotations: {%s: %q}}}", chaosv1.RunNowAnnotation, strconv.Itoa(n)))
}

// ended is nil once the nth run has.
func (c *chaos) ended(n int) error {
	c.Helper()
	if st := c.status(); string(st.HandledRunNow) != strconv.Itoa(n) || st.CurrentRun != nil || len(st.History) == 0 {
		return fmt.Errorf("run %d has not ended: %s", n, framework.Text(st))
	}
	return nil
}

// concluded fails the test unless the nth run killed so many pods, and its end says so.
func (c *chaos) concluded(n int, outcome string, killed int) {
	c.Helper()
	st := c.status()
	last := st.History[0]
	c.ids[last.ID], c.died = true, c.died+killed
	if last.Result != outcome || last.Killed != int32(killed) || len(c.ids) != n || len(st.History) != min(n, 50) {
		c.Errorf("%d runs of %d ids, want the last of %d %s with %d killed: %s", len(st.History), len(c.ids), n, outcome, killed, framework.Text(st))
	}
	if st.KilledToday != int32(c.died) && st.KilledDay == time.Now().UTC().Format(time.DateOnly) && last.StartTime.UTC().Format(time.DateOnly) == st.KilledDay {
		c.Errorf("%d are counted as killed today, want %d", st.KilledToday, c.died)
	}
	told := c.told("ChaosPod", c.name)
	for reason, most := range map[string]int{"ChaosPlanned": n, "PodEvicted": c.died, "RecoveryFailed": 0, "ChaosMissed": 0} {
		if told[reason] > most {
			c.Errorf("%d events %s of %d runs, in which %d died", told[reason], reason, n, c.died)
		}
	}
}

// lived fails the test unless there were so many pods of an app in all.
func (s *suite) lived(app string, want int) {
	s.Helper()
	s.Eventually(func() error { // the watch may be a little behind
		if seen := s.herd.size(app); seen < want {
			return fmt.Errorf("%d pods of %s in all, want %d", seen, app, want)
		}
		return nil
	})
	if seen := s.herd.size(app); seen > want {
		s.Errorf("%d pods of %s in all, want %d", seen, app, want)
	}
}

// once fails the test if the API server was asked for the end of a pod after it had agreed to it.
func (s *suite) once(g *gateway) {
	s.Helper()
	seen := map[string]bool{}
	for _, uid := range g.ended() {
		if uid == "" || seen[uid] {
			s.Errorf("pod %q was killed again: %q", uid, g.ended())
		}
		seen[uid] = true
	}
}

// steady waits until a ChaosPod is scheduled.
func (c *chaos) steady() {
	c.Helper()
	c.Eventually(func() error {
		if st := c.status(); st.NextRunTime == nil {
			return fmt.Errorf("not scheduled: %s", framework.Text(st))
		}
		return nil
	})
}

func TestWhateverBreaksAtWhicheverRequestARunKillsItsVictimsOnce(t *testing.T) {
	t.Parallel()
	for _, fault := range []fault{killBefore, killAfter, lost, conflict, failure} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			for _, app := range []string{"web", "api", "odd"} {
				s.deploy(app, "", "")
			}
			for _, budget := range []string{"one", "two"} {
				s.Make(fmt.Sprintf("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %s}, spec: {minAvailable: 1, selector: {matchLabels: {app: odd}}}}", budget))
			}
			g := s.newGateway()
			replica := s.launch(g, "--leader-elect=false")

			// One victim of each of two workloads.
			both := s.chaos("both", "count: 100%, target: {selector: {matchExpressions: [{key: app, operator: In, values: [web, api]}]}}")
			both.steady()
			s.breakEach(g, replica, fault, round{
				begin: both.runs,
				ended: both.ended,
				check: func(n int) {
					both.concluded(n, chaosv1.ResultSurvived, 2)
					s.lived("web", pods+n)
					s.lived("api", pods+n)
					s.once(g)
				},
			}, "chaospods/status", "pods/eviction")

			// A canary that is made again after a change of its template, and then after its end.
			canary := s.chaos("canary", "target: {template: {metadata: {labels: {app: canary}}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: first}]}}}")
			canary.steady()
			s.lived("canary", 1)
			s.breakEach(g, replica, fault, round{
				begin: func(n int) {
					canary.edit(fmt.Sprintf("{metadata: {annotations: {%s: %q}}, spec: {target: {template: {spec: {containers: [{name: main, image: another-%[2]s}]}}}}}",
						chaosv1.RunNowAnnotation, strconv.Itoa(n)))
				},
				ended: canary.ended,
				check: func(n int) {
					canary.concluded(n, chaosv1.ResultSurvived, 1)
					s.lived("canary", 1+2*n)
					s.once(g)
				},
			}, "pods", "chaospods/status")

			// A halt after which runs go on.
			odd := s.chaos("odd", "target: {workload: {kind: Deployment, name: odd}}")
			odd.steady()
			s.breakEach(g, replica, fault, round{
				begin: odd.runs,
				ended: func(n int) error {
					if err := odd.ended(n); err != nil {
						return err
					}
					if halt := odd.status().Halt; halt != nil {
						odd.edit(fmt.Sprintf("{metadata: {annotations: {%s: %q}}}", chaosv1.RetryAnnotation, halt.RecordID))
						return fmt.Errorf("halted: %s", framework.Text(halt))
					}
					return nil
				},
				check: func(n int) {
					odd.concluded(n, chaosv1.ResultFailed, 0)
					s.lived("odd", pods)
				},
			}, "chaospods/status")
		})
	}
}

func TestALeaderThatIsCutOffAtAKillLeavesItsRunToTheNext(t *testing.T) {
	t.Parallel()
	for _, fault := range []fault{sever, late} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			s.deploy("web", "", "")
			s.deploy("api", "", "")
			c := s.chaos("both", "count: 100%, target: {selector: {matchExpressions: [{key: app, operator: In, values: [web, api]}]}}")
			election := s.election()
			g, next := s.newGateway(), s.newGateway()
			first := s.launch(g, election...)
			c.steady()
			second := s.launch(next, election...)
			s.Eventually(func() error { return second.Ready(t.Context()) })
			g.arm(charge{fault: fault, nth: 1, match: func(name string) bool { return name == "POST pods/eviction" }})
			c.runs(1)
			s.followed(g, first, second, func() error { return c.ended(1) })
			if fault == late {
				if code := g.deliver(); code != 404 && code != 409 {
					t.Errorf("the API server responds to the kill that came late with %d", code)
				}
			}
			c.concluded(1, chaosv1.ResultSurvived, 2)
			s.lived("web", pods+1)
			s.lived("api", pods+1)
			if ended := append(g.ended(), next.ended()...); len(ended) != 2 {
				t.Errorf("%d kills were agreed to, want 2: %q", len(ended), ended)
			}
		})
	}
}
