// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// fieldCase shows that fields of the spec act. There are Deployments web and api of three pods each, with the label app.
type fieldCase struct {
	fields []string
	spec   string
	acts   func(s *suite)
}

const kills = "dryRun: false, verification: {soak: 0s}, " + web + ", "

// fieldCases have each field of the spec at least once.
func fieldCases() []fieldCase {
	return slices.Concat(scheduleCases(), targetCases(), safetyCases(), verificationCases(), requestCases())
}

func scheduleCases() []fieldCase {
	return []fieldCase{
		{[]string{"suspend"}, "suspend: true, " + kills + someday, func(s *suite) {
			s.now("c", "1")
			s.condition("c", chaosv1.ConditionSuspended, metav1.ConditionTrue, chaosv1.ReasonSuspendedBySpec)
			s.edit("suspend: false")
			s.kills("web", 1)
		}},
		{[]string{"dryRun"}, "dryRun: true, " + web + ", " + someday, func(s *suite) {
			before := s.pods("web")
			s.now("c", "1")
			s.ended("c", 1, chaosv1.ResultDryRun)
			if died := gone(before, s.pods("web")); len(died) > 0 {
				s.Errorf("killed %q", died)
			}
		}},
		{[]string{"schedule.cron", "schedule.timeZone"}, kills + `schedule: {cron: "30 3 1 1 *", timeZone: Asia/Kolkata}`, func(s *suite) {
			if next := s.next(); next.Hour() != 22 || next.Minute() != 0 {
				s.Errorf("the next run is due at %s", next)
			}
		}},
		{[]string{"schedule.interval"}, kills + "filter: {minAge: 0s}, schedule: {interval: 10s, jitterPercent: 0}", func(s *suite) { s.diesOf("web") }},
		{[]string{"schedule.at"}, kills + fmt.Sprintf("filter: {minAge: 0s}, schedule: {at: %q}", time.Now().Add(3*time.Second).UTC().Format(time.RFC3339)), func(s *suite) { s.diesOf("web") }},
		{[]string{"schedule.jitterPercent"}, kills + `schedule: {cron: "0 0 1 1 *", jitterPercent: 50}`, func(s *suite) {
			if next := s.next(); next.Minute() == 0 && next.Second() == 0 && next.Hour() == 0 {
				s.Errorf("the next run is due at %s, without jitter", next)
			}
		}},
		{[]string{"schedule.startingDeadline"}, kills + "filter: {minAge: 168h}, schedule: {interval: 30s, startingDeadline: 1s, jitterPercent: 0}", func(s *suite) {
			s.shows("c", func(st *chaosv1.ChaosPodStatus) error {
				if len(st.History) == 0 || !strings.HasPrefix(st.History[0].Message, "held until its starting deadline: ") {
					return fmt.Errorf("no run has missed its deadline")
				}
				return nil
			})
		}},
		{[]string{"windows.name", "windows.cron", "windows.duration"}, kills + someday + `, windows: [{name: someday, cron: "0 0 29 2 *", duration: 1h}]`, func(s *suite) { s.holds(chaosv1.ReasonOutsideWindow, "when someday opens") }},
		{[]string{"blackouts.name", "blackouts.cron", "blackouts.duration"}, kills + someday + `, blackouts: [{name: always, cron: "* * * * *", duration: 1h}]`, func(s *suite) { s.holds(chaosv1.ReasonBlackout, "blackout always lasts") }},
		{[]string{"windows.timeZone", "blackouts.timeZone"}, "suspend: true, " + kills + someday, func(s *suite) {
			// Of an hour that is half an hour old, and more than five hours away in UTC.
			hour := fmt.Sprintf("[{name: hour, cron: %q, timeZone: Asia/Kolkata, duration: 1h}]", s.Daily(time.Now().Add(-30*time.Minute), "Asia/Kolkata"))
			s.edit("suspend: false, blackouts: " + hour)
			s.holds(chaosv1.ReasonBlackout, "")
			s.edit("blackouts: null, windows: " + hour)
			s.kills("web", 1)
		}},
	}
}

func targetCases() []fieldCase {
	return []fieldCase{
		{[]string{"target.workload.group", "target.workload.kind", "target.workload.name"}, "dryRun: false, target: {workload: {group: apps, kind: Deployment, name: api}}, verification: {soak: 0s}, " + someday, func(s *suite) {
			s.kills("api", 1)
			s.kills("web", 0)
		}},
		{[]string{"target.selector"}, "dryRun: false, target: {selector: {matchLabels: {app: api}}}, verification: {soak: 0s}, " + someday, func(s *suite) {
			s.kills("api", 1)
			s.kills("web", 0)
		}},
		{[]string{"target.template"}, canary, func(s *suite) { s.living("c") }},
		{[]string{"count"}, "dryRun: false, count: 2, target: {selector: {matchExpressions: [{key: app, operator: Exists}]}}, verification: {soak: 0s}, " + someday, func(s *suite) {
			s.kills("web", 1)
			s.kills("api", 1)
		}},
		{[]string{"filter.minAge"}, kills + `schedule: {cron: "0 0 29 2 *"}, filter: {minAge: 100h}`, func(s *suite) {
			s.holds(chaosv1.ReasonNoCandidate, "younger than filter.minAge (100h)")
		}},
		{[]string{"filter.exclude"}, kills + `schedule: {cron: "0 0 29 2 *"}, filter: {minAge: 0s, exclude: {matchLabels: {app: web}}}`, func(s *suite) {
			s.holds(chaosv1.ReasonNoCandidate, "3 pods excluded by filter.exclude")
		}},
		{[]string{"serviceAccountName"}, "serviceAccountName: guest, " + kills + someday, func(s *suite) {
			s.MayBeRefusedIn(s.Namespace)
			s.now("c", "1")
			if run := s.ended("c", 1, chaosv1.ResultFailed); run.Reason != chaosv1.ReasonForbidden {
				s.Errorf("%+v", run)
			}
		}},
	}
}

func safetyCases() []fieldCase {
	return []fieldCase{
		{[]string{"safety.minReady"}, kills + "safety: {minReady: 3}, " + someday, func(s *suite) { s.holds(chaosv1.ReasonTooFewReady, "3 must stay ready") }},
		{[]string{"safety.maxPerDay"}, kills + "safety: {maxPerDay: 1}, " + someday, func(s *suite) {
			s.kills("web", 1)
			s.available("web", 3)
			s.annotate("c", chaosv1.RunNowAnnotation, "2")
			s.condition("c", chaosv1.ConditionWaiting, metav1.ConditionTrue, chaosv1.ReasonDailyLimit)
		}},
		{[]string{"safety.requireStable"}, kills + "safety: {requireStable: true}, " + someday, func(s *suite) {
			s.Merge("apps/v1", "Deployment", "web", "{spec: {template: {spec: {nodeSelector: {no: node}}}}}")
			s.Eventually(func() error {
				var d appsv1.Deployment
				if err := s.Get("web", &d); err != nil || d.Status.ObservedGeneration < d.Generation {
					return fmt.Errorf("the rollout has not begun: %v", err)
				}
				return nil
			})
			s.holds(chaosv1.ReasonUnstable, "rolls out")
			s.edit("safety: {requireStable: false}")
			s.kills("web", 1)
		}},
		{[]string{"safety.requireDisruptionBudget"}, kills + "safety: {requireDisruptionBudget: true}, " + someday, func(s *suite) {
			s.holds(chaosv1.ReasonNoCandidate, "3 pods without a PodDisruptionBudget")
			s.budget("web", "web", 2, 1)
			s.dies("web", 1) // which no watch tells
		}},
		{[]string{"action.type"}, "action: {type: Delete}, " + kills + someday, func(s *suite) {
			s.budget("web", "web", 3, 0)
			s.kills("web", 1)
		}},
		{[]string{"action.gracePeriodSeconds"}, "action: {gracePeriodSeconds: 17}, " + kills + someday, func(s *suite) { s.ends("web", 17) }},
	}
}

func verificationCases() []fieldCase {
	fails := func(s *suite) {
		s.Helper()
		s.MayBeRefusedIn(s.Namespace)
		s.Make(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: full}, spec: {hard: {pods: "0"}}}`)
		s.now("c", "1")
		s.ended("c", 1, chaosv1.ResultRecoveryFailed)
	}
	return []fieldCase{
		{[]string{"verification.timeout"}, "dryRun: false, verification: {timeout: 4s}, " + web + ", " + someday, func(s *suite) {
			fails(s)
			s.condition("c", chaosv1.ConditionStalled, metav1.ConditionTrue, chaosv1.ReasonRecoveryFailed)
		}},
		{[]string{"verification.onFailure"}, "dryRun: false, verification: {timeout: 4s, onFailure: Continue}, " + web + ", " + someday, func(s *suite) {
			fails(s)
			if object, err := s.get("c"); err != nil || object.Status.Halt != nil {
				s.Errorf("%v: %+v", err, object.Status.Halt)
			}
		}},
		{[]string{"historyLimit"}, "historyLimit: 1, " + web + ", " + someday, func(s *suite) {
			s.now("c", "1")
			first := s.ended("c", 1, chaosv1.ResultDryRun)
			s.now("c", "2")
			s.shows("c", func(st *chaosv1.ChaosPodStatus) error {
				if st.CurrentRun != nil || len(st.History) != 1 || st.History[0].ID == first.ID {
					return fmt.Errorf("the history is %s", framework.Text(st.History))
				}
				return nil
			})
		}},
		{[]string{"verification.soak"}, "dryRun: false, verification: {soak: 4s}, " + web + ", " + someday, func(s *suite) {
			s.now("c", "1")
			run := s.ended("c", 1, chaosv1.ResultSurvived)
			if took := run.CompletionTime.Sub(run.StartTime.Time); took < 4*time.Second {
				s.Errorf("verified after %s", took)
			}
		}},
	}
}

// TestEachFieldOfTheSpecActs takes each field once. Nothing is injected.
func TestEachFieldOfTheSpecActs(t *testing.T) {
	t.Parallel()
	for _, c := range framework.Sample(framework.NewSampler(t), 6, fieldCases()) {
		t.Run(strings.Join(c.fields, " "), func(t *testing.T) {
			s := newSuite(t)
			s.run("web", 3, "")
			s.run("api", 3, "")
			if strings.Contains(c.spec, "serviceAccountName") {
				s.Make("{apiVersion: v1, kind: ServiceAccount, metadata: {name: guest}}")
			}
			s.Make(s.manifest("c", c.spec))
			s.shows("c", func(*chaosv1.ChaosPodStatus) error { return nil })
			c.acts(s)
		})
	}
}

// The schema is what there is; a field that is added later has to get a case.
func TestEachFieldOfTheSpecHasACase(t *testing.T) {
	t.Parallel()
	var fields []string
	for _, c := range fieldCases() {
		fields = append(fields, c.fields...)
	}
	framework.FieldTests{}.Check(t, "chaos.fairlead.dev_chaospods.yaml", chaosv1.GroupVersion.Version, fields...)
}

func (s *suite) edit(spec string) {
	s.Helper()
	s.Merge(chaosv1.GroupVersion.String(), "ChaosPod", "c", "{spec: {"+spec+"}}")
}

// next returns when the next run is due.
func (s *suite) next() time.Time {
	s.Helper()
	st := s.shows("c", func(st *chaosv1.ChaosPodStatus) error {
		if st.NextRunTime == nil {
			return fmt.Errorf("no run is due")
		}
		return nil
	})
	return st.NextRunTime.UTC()
}

// holds requests a run, and waits until it is held.
func (s *suite) holds(reason, words string) {
	s.Helper()
	s.now("c", "1")
	s.says("c", chaosv1.ConditionWaiting, metav1.ConditionTrue, reason, words)
}

// kills requests a run, or sees the one that was requested, and demands that it kills so many pods of an app.
func (s *suite) kills(app string, n int) {
	s.Helper()
	s.now("c", "1")
	s.dies(app, n)
}

// dies demands that the first run kills so many pods of an app.
func (s *suite) dies(app string, n int) {
	s.Helper()
	s.ended("c", 1, chaosv1.ResultSurvived)
	if died := len(s.Told("Deployment", app)["PodEvicted"]) + len(s.Told("Deployment", app)["PodDeleted"]); died != n {
		s.Errorf("of %s %d died, want %d", app, died, n)
	}
}

// diesOf waits until a pod of an app has died, whatever becomes of it.
func (s *suite) diesOf(app string) {
	s.Helper()
	s.told("Deployment", app, "PodEvicted")
}

// ends demands that a pod is killed with a grace period.
func (s *suite) ends(app string, seconds int64) {
	s.Helper()
	pods, err := s.Client.Watch(s.Context(), &corev1.PodList{}, client.InNamespace(s.Namespace), client.MatchingLabels{"app": app})
	s.Must(err)
	defer pods.Stop()
	s.now("c", "1")
	for change := range pods.ResultChan() {
		if pod, ok := change.Object.(*corev1.Pod); ok && pod.DeletionTimestamp != nil {
			if got := *pod.DeletionGracePeriodSeconds; got != seconds {
				s.Errorf("pod %s ends within %d s, want %d", pod.Name, got, seconds)
			}
			return
		}
	}
	s.Fatalf("the watch has ended")
}
