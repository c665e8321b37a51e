// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/disruption"
)

const theRestart = "abcdef01-1"

func TestAPolicyOnAWorkloadThatIsThereRestartsNothing(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.expectActions()
	s.expectCondition(autorebootv1.ConditionReady, "True Watching")
	s.expectCondition(autorebootv1.ConditionWaiting, "False NothingPending")
	if got := s.object().Status.ObservedGeneration; got != 1 {
		t.Errorf("observed generation %d", got)
	}
	for range 3 {
		s.advance(time.Minute)
		s.expectNoWrite("nothing has changed")
	}
}

func TestAChangeRestartsOnceAndIsVerified(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	result := s.reconcile()
	s.expectCondition(autorebootv1.ConditionWaiting, "True Debouncing")
	s.expectCondition(autorebootv1.ConditionReady, "True Watching")
	if result.RequeueAfter <= 0 || result.RequeueAfter > 16*time.Second {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	s.expectActions()
	s.advance(16 * time.Second)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
	s.expectCondition(autorebootv1.ConditionWaiting, "False NothingPending")
	s.expectCondition(autorebootv1.ConditionProgressing, "True RollingOut")
	s.advance(controller.CoalescingInterval)
	s.reconcile()
	if phase := s.object().Status.InFlight[0].Phase; phase != autorebootv1.PhaseRollingOut {
		t.Errorf("phase %s", phase)
	}
	s.advance(time.Second)
	s.expectNoWrite("the rollout goes on")
	s.completeRollout("api")
	s.reconcile()
	s.advance(11 * time.Second)
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionProgressing, "False Idle")
	s.expectCondition(autorebootv1.ConditionVerified, "True StayedAvailable")
	s.expectActions()
	if held := s.ledger.Snapshot().Held[disruption.RebootPolicy]; held != 0 {
		t.Errorf("the ledger holds %d when it is over", held)
	}
	s.advance(time.Hour)
	s.reconcile()
	s.expectNoWrite("it is over")
	for _, want := range []string{
		"RestartStarted Deployment/RebootPolicy", "RestartVerified RebootPolicy/Deployment",
	} {
		if !strings.Contains(strings.Join(s.all, "\n"), want) {
			t.Errorf("no event %s among %q", want, s.all)
		}
	}
}

func TestNothingIsDoneThatCouldNotBeStored(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	s.events = nil
	s.refusing = apierrors.NewConflict(autorebootv1.GroupVersion.WithResource("rebootpolicies").GroupResource(), "payments", errors.New("changed"))
	if got := s.reconcile().RequeueAfter; got != controller.StaleRetry {
		t.Errorf("looks again after %s", got)
	}
	s.expectActions()
	if len(s.events) > 0 {
		t.Errorf("told %q", s.events)
	}
	if held := s.ledger.Snapshot().Held[disruption.RebootPolicy]; held != 1 {
		t.Errorf("the ledger holds %d, want the claim of what may have been stored", held)
	}
	s.refusing = nil
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
}

func TestAClaimIsKeptUntilItsEndIsStored(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	s.reconcile()
	s.completeRollout("api")
	s.reconcile()
	s.advance(time.Minute)
	s.refusing = apierrors.NewConflict(autorebootv1.GroupVersion.WithResource("rebootpolicies").GroupResource(), "payments", errors.New("changed"))
	s.reconcile()
	if held := s.ledger.Snapshot().Held[disruption.RebootPolicy]; held != 1 {
		t.Errorf("the ledger holds %d while the status says that the restart is in flight", held)
	}
	s.refusing = nil
	s.reconcile()
	if held := s.ledger.Snapshot().Held[disruption.RebootPolicy]; held != 0 {
		t.Errorf("the ledger holds %d", held)
	}
}

func TestACacheThatIsBehindNeverPlansTwice(t *testing.T) {
	for name, passed := range map[string]time.Duration{"at once": 0, "longer than is waited for it": controller.StaleTimeout + time.Second} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, config, deployment("api", 2, nil)...)
			s.reconcile()
			s.changeSource("Secret/creds", "hmac:2")
			s.reconcile()
			s.advance(time.Minute)
			before := s.object()
			s.reconcile()
			s.expectActions("Annotate api " + theRestart)
			s.stale = before
			s.advance(passed)
			for range 3 {
				if got := s.reconcile().RequeueAfter; got != controller.StaleRetry {
					t.Errorf("looks again after %s", got)
				}
			}
			s.expectActions()
			s.stale = nil
			s.reconcile()
			s.expectActions()
		})
	}
}

func TestAnOldStatusThatAsksForAnActionIsNotActedOn(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	s.doer.outcome = restart.Retry
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
	planned := s.object()
	s.doer.outcome = ""
	s.advance(time.Second)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
	s.advance(controller.CoalescingInterval)
	s.reconcile()

	// A process that has lost the lead still has the status that plans the restart, while the
	// workload carries a later one.
	var d appsv1.Deployment
	s.must(s.store.Get(t.Context(), policyKeyOf("api"), &d))
	d.Spec.Template.Annotations[autorebootv1.RestartIDAnnotation] = "abcdef01-2"
	s.must(s.store.Update(t.Context(), &d))
	s.restart()
	s.stale = planned
	s.advance(time.Minute)
	if got := s.reconcile().RequeueAfter; got != controller.StaleRetry {
		t.Errorf("looks again after %s", got)
	}
	s.expectActions()
}

func TestAProcessThatEndsAfterActingRestartsOnce(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	s.doer.dies = true
	s.reconcile()
	s.advance(controller.CoalescingInterval)
	if _, err := s.Reconcile(t.Context(), reconcile.Request{NamespacedName: policyKey}); !errors.Is(err, errDied) {
		t.Fatalf("the write after the action ended with %v", err)
	}
	s.expectActions("Annotate api " + theRestart)
	s.doer.dies, s.refusing = false, nil
	s.restart()
	if held := s.ledger.Snapshot().Held[disruption.RebootPolicy]; held != 1 {
		t.Errorf("the ledger of the next process holds %d", held)
	}
	s.advance(20 * time.Second)
	s.reconcile()
	for _, done := range s.doer.done {
		if done != "Annotate api "+theRestart {
			t.Errorf("did %s", done)
		}
	}
	if got := len(s.object().Status.InFlight); got != 1 {
		t.Errorf("%d in flight", got)
	}
}

func TestWhatIsRefusedIsSaidAndTriedOnceAMinute(t *testing.T) {
	for reason, refusal := range map[string]error{
		autorebootv1.ReasonForbidden:    apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "api", errors.New("denied by policy x")),
		autorebootv1.ReasonWriteRefused: &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusUnprocessableEntity, Message: "denied by policy x"}},
	} {
		t.Run(reason, func(t *testing.T) {
			s := newSuite(t, config, deployment("api", 2, nil)...)
			s.edit(func(p *autorebootv1.RebootPolicy) { p.Spec.ServiceAccountName = "deployer" })
			s.reconcile()
			s.changeSource("Secret/creds", "hmac:2")
			s.reconcile()
			s.advance(time.Minute)
			s.doer.outcome, s.doer.err = restart.Refused, refusal
			told := func() {
				t.Helper()
				s.expectCondition(autorebootv1.ConditionReady, "False "+reason)
				s.expectCondition(autorebootv1.ConditionStalled, "True "+reason)
				s.expectCondition(autorebootv1.ConditionWaiting, "True "+reason)
				s.expectCondition(autorebootv1.ConditionProgressing, "False Waiting")
				for _, kind := range []string{autorebootv1.ConditionReady, autorebootv1.ConditionStalled, autorebootv1.ConditionWaiting} {
					if c := meta.FindStatusCondition(s.object().Status.Conditions, kind); !strings.Contains(c.Message, "ServiceAccount deployer may not patch Deployment api: ") || !strings.Contains(c.Message, "denied by policy x") {
						t.Errorf("%s says %q", c.Type, c.Message)
					}
				}
				if st := s.object().Status; len(st.History) > 0 || st.Targets[0].Attempts > 0 {
					t.Errorf("history %+v, %d attempts", st.History, st.Targets[0].Attempts)
				}
				if held := s.ledger.Snapshot().Held[disruption.RebootPolicy]; held != 0 {
					t.Errorf("the ledger holds %d for what was not begun", held)
				}
			}
			for hour := range 60 {
				s.reconcile()
				s.expectActions(fmt.Sprintf("Annotate api abcdef01-%d", hour+1))
				told()
				for range 5 {
					s.advance(10 * time.Second)
					s.reconcile()
				}
				s.expectActions()
				told()
				s.advance(11 * time.Second)
			}
			events := 0
			for _, event := range s.all {
				if strings.HasPrefix(event, "RestartRefused RebootPolicy") {
					events++
				}
			}
			if events != 1 {
				t.Errorf("told %d times: %q", events, s.all)
			}
			s.doer.outcome, s.doer.err = "", nil
			s.reconcile()
			s.expectActions("Annotate api abcdef01-61")
			s.advance(time.Second)
			s.reconcile()
			s.expectCondition(autorebootv1.ConditionReady, "True Watching")
			s.expectCondition(autorebootv1.ConditionStalled, "")
		})
	}
}

func TestADeletedPolicyIsForgottenEverywhere(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	s.reconcile()
	s.must(s.store.Delete(t.Context(), s.object()))
	s.reconcile()
	if n := len(s.watchIndex.All()) + s.states.Len() + s.metrics.Len() + s.enqueuer.Len() + len(s.content.wants); n > 0 {
		t.Errorf("%d things are remembered", n)
	}
	if held := s.ledger.Snapshot().Held[disruption.RebootPolicy]; held != 0 {
		t.Errorf("the ledger holds %d", held)
	}
}

func TestARestartInFlightOutlivesItsTarget(t *testing.T) {
	s := newSuite(t, config, append(deployment("api", 2, nil), deployment("web", 1, nil)...)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
	s.edit(func(p *autorebootv1.RebootPolicy) { p.Spec.Targets[0].Name = "web" })
	s.reconcile()
	if f := s.object().Status.InFlight; len(f) != 1 || f[0].Name != "api" {
		t.Errorf("in flight: %+v", f)
	}
	s.completeRollout("api")
	s.advance(time.Second)
	s.reconcile()
	s.advance(time.Minute)
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionVerified, "True StayedAvailable")
}

func TestDryRunAndSuspendActOnNothing(t *testing.T) {
	for name, want := range map[string]string{"dryRun": autorebootv1.ReasonDryRun, "suspend": autorebootv1.ReasonSuspended} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, config+name+": true\n", deployment("api", 2, nil)...)
			s.reconcile()
			s.changeSource("Secret/creds", "hmac:2")
			s.reconcile()
			s.advance(time.Minute)
			s.reconcile()
			s.expectActions()
			s.expectCondition(autorebootv1.ConditionWaiting, "True "+want)
		})
	}
}

func TestWindowsHoldARestartAndSayUntilWhen(t *testing.T) {
	s := newSuite(t, config+`windows: [{name: nightly, cron: "0 22 * * *", duration: 6h}]`+"\n", deployment("api", 2, nil)...)
	s.reconcile()
	if at := s.object().Status.NextAllowedTime; at == nil || !at.Time.Equal(time.Date(2026, 3, 2, 22, 0, 0, 0, time.UTC)) {
		t.Errorf("next allowed time %v", at)
	}
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	result := s.reconcile()
	s.expectCondition(autorebootv1.ConditionWaiting, "True OutsideWindow")
	s.expectCondition(autorebootv1.ConditionReady, "True Watching")
	if at := s.now.Add(result.RequeueAfter); at.After(time.Date(2026, 3, 2, 22, 0, 1, 0, time.UTC)) {
		t.Errorf("looks again at %s", at)
	}
	s.expectActions()
	s.now = time.Date(2026, 3, 2, 22, 0, 1, 0, time.UTC)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
	if at := s.object().Status.NextAllowedTime; at != nil {
		t.Errorf("next allowed time %v inside the window", at)
	}
}

func TestWhatOthersDisruptIsLeftAlone(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	chaos := disruption.Holder{Kind: disruption.ChaosPod, NamespacedName: types.NamespacedName{Namespace: "shop", Name: "monkey"}}
	s.ledger.Restore(chaos, "", []disruption.Claim{{UID: "uid-api"}})
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionWaiting, "True ChaosActive")
	if waiting := s.ledger.Snapshot().Waiting; waiting != 1 {
		t.Errorf("%d wait in the ledger", waiting)
	}
	s.ledger.Forget(chaos)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
}

// A restart that turns out to lack a Secret leaves the last slot of the cluster to another.
func TestARestartThatIsHeldLeavesItsSlot(t *testing.T) {
	lacking := deployment("api", 2, nil)
	lacking[0].(*appsv1.Deployment).Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "c", EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "absent"}}}},
	}}
	s := newSuite(t, strings.Replace(config, "name: api}", "name: api}, {kind: Deployment, name: web}", 1), append(lacking, deployment("web", 2, nil)...)...)
	s.ledger = disruption.New(disruption.Options{MaxDisrupted: 1})
	s.Ledger = s.ledger
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(16 * time.Second)
	s.reconcile()
	s.expectActions("Annotate web " + theRestart)
}

func TestEventsOfOneKindHaveABound(t *testing.T) {
	part := map[string]string{"part": "shop"}
	var objects []client.Object
	for i := range controller.MaxEvents + 5 {
		objects = append(objects, deployment(fmt.Sprintf("w%02d", i), 1, part)...)
	}
	s := newSuite(t, strings.Replace(config, "name: api", "selector: {matchLabels: {part: shop}}", 1), objects...)
	s.edit(func(p *autorebootv1.RebootPolicy) { p.Spec.DryRun = ptr.To(true) })
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.events = nil
	s.reconcile()
	s.advance(time.Minute)
	s.reconcile()
	if len(s.events) != controller.MaxEvents {
		t.Errorf("told %d: %q", len(s.events), s.events)
	}
}

func TestRestartNowIsActedOnOnce(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.edit(func(p *autorebootv1.RebootPolicy) {
		p.Annotations = map[string]string{autorebootv1.RestartNowAnnotation: "please"}
		p.Spec.HistoryLimit = ptr.To(int32(3))
	})
	s.reconcile()
	s.advance(time.Minute)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
	if got := s.object().Status.HandledRestartNow; got != "please" {
		t.Errorf("last token %q", got)
	}
}

// Only a Probe trigger has something to look at again when a restart has ended: each reconcile right after a write may
// be one more write.
func TestTheEndOfARestartBringsAboutNoReconcileRightAfterIt(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	s.reconcile()
	s.completeRollout("api")
	s.reconcile()
	s.advance(time.Minute)
	result := s.reconcile()
	s.expectCondition(autorebootv1.ConditionVerified, "True StayedAvailable")
	if result.RequeueAfter > 0 && result.RequeueAfter < controller.CoalescingInterval {
		t.Errorf("reconciled again after %s", result.RequeueAfter)
	}
}

func TestAClockThatWasAheadIsToldWhileARestartWaits(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.advance(time.Hour)
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.restart()
	s.now = epoch.Add(time.Minute)
	s.reconcile()
	expectTold := func(kind string) {
		t.Helper()
		if c := meta.FindStatusCondition(s.object().Status.Conditions, kind); c == nil || !strings.Contains(c.Message, "in the future, and counts as now") {
			t.Errorf("%s is %+v", kind, c)
		}
	}
	expectTold(autorebootv1.ConditionWaiting)
	if !slices.ContainsFunc(s.all, func(e string) bool { return strings.HasPrefix(e, "ClockSkew RebootPolicy") }) {
		t.Errorf("told %q", s.all)
	}
	s.advance(time.Second)
	s.expectNoWrite("the message about what waits is unchanged")
	s.advance(15 * time.Second)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
	expectTold(autorebootv1.ConditionProgressing)
}

// A finalizer of another tool may keep a policy for ever: that must not look like a policy that works.
func TestAPolicyThatIsBeingDeletedSaysSo(t *testing.T) {
	s := newSuite(t, onChange, annotated("web", map[string]string{common.RestartOnChangeAnnotation: "true"})...)
	s.edit(func(p *autorebootv1.RebootPolicy) { p.Finalizers = []string{"example.com/backup"} })
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionReady, "True Watching")
	s.must(s.store.Delete(t.Context(), s.object()))
	s.events = nil
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionReady, "False Deleting")
	s.expectCondition(autorebootv1.ConditionProgressing, "False Deleting")
	if message := readyMessage(s); !strings.Contains(message, "nothing is restarted") || !strings.Contains(message, "kept by the finalizers example.com/backup") {
		t.Errorf("the message is %q", message)
	}
	if len(s.events) != 1 {
		t.Errorf("the events are %q", s.events)
	}
	s.expectNoWrite("it goes on being deleted")
}
