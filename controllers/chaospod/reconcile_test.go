// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"errors"
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
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/cron"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/freeze"
)

func TestARunKillsOnePodThatTheStatusNames(t *testing.T) {
	s := newSuite(t, one)
	s.requestRun()
	s.reconcile()
	s.reconcile()
	if len(s.killed) != 1 || !strings.HasPrefix(s.killed[0], "api-") {
		t.Errorf("killed %q", s.killed)
	}
	s.expectCondition(chaosv1.ConditionProgressing, chaosv1.ReasonVerifying)
	if !slices.Contains(s.events, "ChaosPlanned") || !slices.Contains(s.events, "PodEvicted") {
		t.Errorf("told %q", s.events)
	}
}

func TestWhatMayNotKillKillsNothing(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*suite)
		kind   string
		reason string
	}{
		"no approval": {func(s *suite) {
			s.edit(func(c *chaosv1.ChaosPod) { delete(c.Annotations, common.ApprovedByAnnotation) })
		}, chaosv1.ConditionReady, chaosv1.ReasonForbidden},
		"another's approval": {func(s *suite) {
			s.edit(func(c *chaosv1.ChaosPod) { c.Spec.Action = &chaosv1.Action{Type: ptr.To(chaosv1.ActionDelete)} })
		}, chaosv1.ConditionReady, chaosv1.ReasonForbidden},
		"a namespace that is denied": {func(s *suite) { s.Denied = []string{"shop"} }, chaosv1.ConditionReady, chaosv1.ReasonForbidden},
		"canaries that are off": {func(s *suite) {
			s.WithoutCanaries = true
			s.edit(func(c *chaosv1.ChaosPod) {
				c.Spec.Target = chaosv1.Target{Template: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}}}}
			})
		}, chaosv1.ConditionReady, chaosv1.ReasonForbidden},
		"a network at fault":       {func(s *suite) { suspects(s, true) }, chaosv1.ConditionWaiting, chaosv1.ReasonProbesInconclusive},
		"a node that is drained":   {func(s *suite) { s.must(s.store.Update(s.Context(), drained(s))) }, "", ""},
		"a node that is not known": {func(s *suite) { s.must(s.store.Delete(s.Context(), drained(s))) }, "", ""},
		"a rollout": {func(s *suite) {
			var d appsv1.Deployment
			s.must(s.store.Get(s.Context(), types.NamespacedName{Namespace: "shop", Name: "api"}, &d))
			d.Generation = 2
			s.must(s.store.Update(s.Context(), &d))
		}, chaosv1.ConditionWaiting, chaosv1.ReasonUnstable},
		"a restart": {func(s *suite) {
			holder := disruption.Holder{Kind: disruption.RebootPolicy, NamespacedName: key}
			s.Ledger.Restore(holder, "", []disruption.Claim{{UID: "uid-api"}})
		}, chaosv1.ConditionWaiting, chaosv1.ReasonRestartInProgress},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, one)
			s.requestRun()
			test.change(s)
			s.reconcile()
			s.reconcile()
			if len(s.killed) > 0 {
				t.Errorf("killed %q", s.killed)
			}
			if test.kind != "" {
				s.expectCondition(test.kind, test.reason)
			}
		})
	}
}

// suspects has the health checks of another kind find this process at fault, or not any more.
func suspects(s *suite, suspect bool) {
	s.Suspicions.OnSuspect("ExternalService", func(bool, string) {})(suspect, "a test")
}

func TestARunThatASuspicionHoldsBeginsWhenItEnds(t *testing.T) {
	s := newSuite(t, one)
	s.reconcile()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	s.must(s.enqueuer.Source().Start(t.Context(), queue))
	suspects(s, true)
	s.requestRun()
	s.reconcile()
	s.expectCondition(chaosv1.ConditionWaiting, chaosv1.ReasonProbesInconclusive)
	for queue.Len() > 0 {
		request, down := queue.Get()
		if down {
			t.Fatal("the queue is shut down")
		}
		queue.Done(request)
	}
	s.now = s.now.Add(time.Hour)
	if s.reconcile(); len(s.killed) > 0 {
		t.Fatalf("killed %q", s.killed)
	}
	if suspects(s, false); queue.Len() != 1 {
		t.Errorf("%d ChaosPods are looked at when the suspicion ends, want 1", queue.Len())
	}
	if s.reconcile(); len(s.killed) != 1 {
		t.Errorf("killed %q", s.killed)
	}
}

func TestASuspicionThatBeginsBetweenTwoKillsSparesTheOthers(t *testing.T) {
	s := newSuite(t, both)
	s.requestRun()
	s.onKill = func() { suspects(s, true) }
	for range 4 {
		s.reconcile()
		s.now = s.now.Add(time.Second)
	}
	if len(s.killed) != 1 {
		t.Errorf("killed %q", s.killed)
	}
	run := s.object().Status.CurrentRun
	if run == nil || run.Phase != chaosv1.RunVerifying || !slices.ContainsFunc(run.Victims, func(v chaosv1.Victim) bool {
		return v.Outcome == chaosv1.VictimSpared && v.Reason == chaosv1.ReasonProbesInconclusive
	}) {
		t.Errorf("%+v", run)
	}
}

func TestASuspicionThatBeginsBeforeTheFirstKillHoldsTheRun(t *testing.T) {
	s := newSuite(t, one)
	s.requestRun()
	ctx, die := context.WithCancel(s.Context())
	s.Client = interceptor.NewClient(s.store, interceptor.Funcs{SubResourceUpdate: func(ctx context.Context, c client.Client, of string, object client.Object, opts ...client.SubResourceUpdateOption) error {
		defer die() // the process ends once the victims are stored
		return c.SubResource(of).Update(ctx, object, opts...)
	}})
	s.Live = interceptor.NewClient(s.store, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return c.Get(ctx, key, into, opts...)
	}})
	s.As = func(context.Context, string, string) (client.Client, error) {
		return nil, errors.New("this process has ended")
	}
	_, _ = s.Reconcile(ctx, reconcile.Request{NamespacedName: key})
	planned := s.object().Status.CurrentRun
	if planned == nil || len(s.killed) > 0 {
		t.Fatalf("killed %q: %+v", s.killed, planned)
	}
	s.restart()
	suspects(s, true)
	for range 3 {
		s.now = s.now.Add(time.Minute)
		s.reconcile()
	}
	s.expectCondition(chaosv1.ConditionWaiting, chaosv1.ReasonProbesInconclusive)
	if len(s.killed) > 0 {
		t.Fatalf("killed %q", s.killed)
	}
	suspects(s, false)
	if s.reconcile(); !slices.Equal(s.killed, []string{planned.Victims[0].Name}) {
		t.Errorf("killed %q, and %s was chosen", s.killed, planned.Victims[0].Name)
	}
}

func TestAFreezeOfTheClusterHoldsChaos(t *testing.T) {
	s := newSuite(t, one)
	frozen, err := freeze.New(freeze.Options{Now: func() time.Time { return s.now }, Configured: []cron.Blackout{
		{Name: "release", Start: ptr.To(metav1.NewTime(epoch.Add(-time.Hour))), End: ptr.To(metav1.NewTime(epoch.Add(time.Hour)))},
	}})
	s.must(err)
	s.Freeze = frozen
	s.requestRun()
	if s.reconcile(); len(s.killed) > 0 {
		t.Fatalf("killed %q", s.killed)
	}
	s.expectCondition(chaosv1.ConditionWaiting, chaosv1.ReasonBlackout)
	if c := meta.FindStatusCondition(s.object().Status.Conditions, chaosv1.ConditionWaiting); !strings.Contains(c.Message, "2026-03-02T15:00:00Z") {
		t.Errorf("the end of the freeze is not in %q", c.Message)
	}
	s.now = epoch.Add(time.Hour)
	if s.reconcile(); len(s.killed) != 1 {
		t.Errorf("killed %q after the freeze", s.killed)
	}
}

// gameDay has a fault injected into ExternalService db, and a RebootPolicy of a workload by which it depends
// on db.
func (s *suite) gameDay(workload string) *networkingv1.ExternalService {
	s.Helper()
	s.must(s.store.Create(s.Context(), &autorebootv1.RebootPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "p"},
		Spec:       autorebootv1.RebootPolicySpec{Gates: []autorebootv1.Gate{{Condition: &autorebootv1.ObjectCondition{APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService", Name: "db", Type: "Healthy"}}}},
		Status:     autorebootv1.RebootPolicyStatus{Targets: []autorebootv1.TargetStatus{{Kind: common.WorkloadDeployment, Name: workload}}},
	}))
	es := &networkingv1.ExternalService{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "db"}}
	meta.SetStatusCondition(&es.Status.Conditions, metav1.Condition{Type: networkingv1.ConditionFaultInjected, Status: metav1.ConditionTrue, Reason: "BlackHole", Message: "until 14:10"})
	s.must(s.store.Create(s.Context(), es))
	return es
}

func TestAFaultHoldsTheChaosOfWhatDeclaresThatItDependsOnIt(t *testing.T) {
	s := newSuite(t, one)
	s.gameDay("another")
	var api appsv1.Deployment
	s.must(s.store.Get(t.Context(), types.NamespacedName{Namespace: key.Namespace, Name: "api"}, &api))
	metav1.SetMetaDataAnnotation(&api.ObjectMeta, common.DependsOnAnnotation, "externalservice/db, db")
	s.must(s.store.Update(t.Context(), &api))
	s.requestRun()
	if s.reconcile(); len(s.killed) > 0 {
		t.Fatalf("killed %q", s.killed)
	}
	s.expectCondition(chaosv1.ConditionWaiting, chaosv1.ReasonFaultInjected)
	if c := meta.FindStatusCondition(s.object().Status.Conditions, chaosv1.ConditionReady); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, `"db" is not externalservice/`) {
		t.Errorf("%s: %s", c.Status, c.Message)
	}
}

func TestAFaultHoldsTheChaosOfWhatDependsOnItAlone(t *testing.T) {
	s := newSuite(t, one)
	es := s.gameDay("api")
	s.requestRun()
	if s.reconcile(); len(s.killed) > 0 {
		t.Fatalf("killed %q", s.killed)
	}
	s.expectCondition(chaosv1.ConditionWaiting, chaosv1.ReasonFaultInjected)
	if c := meta.FindStatusCondition(s.object().Status.Conditions, chaosv1.ConditionWaiting); !strings.Contains(c.Message, "ExternalService db: until 14:10") {
		t.Error(c.Message)
	}
	ended := es.DeepCopy()
	ended.Status.Conditions[0].Status = metav1.ConditionFalse
	change := event.TypedUpdateEvent[*networkingv1.ExternalService]{ObjectOld: es, ObjectNew: ended}
	same := event.TypedUpdateEvent[*networkingv1.ExternalService]{ObjectOld: es, ObjectNew: es}
	if wakes := faultChanged(); !wakes.Update(change) || wakes.Update(same) {
		t.Error("ChaosPods are to be woken by the end of a fault, and by nothing else")
	}
	s.must(s.store.Update(t.Context(), ended))
	if s.reconcile(); len(s.killed) != 1 {
		t.Errorf("killed %q after the fault", s.killed)
	}

	s = newSuite(t, both)
	s.gameDay("web")
	s.requestRun()
	if s.reconcile(); len(s.killed) != 1 || !strings.HasPrefix(s.killed[0], "api-") {
		t.Errorf("killed %q, and only web depends on db", s.killed)
	}
}

func TestWhatCannotBeReadOfFaultsHoldsChaos(t *testing.T) {
	s := newSuite(t, one)
	s.gameDay("web")
	s.requestRun()
	s.Client = interceptor.NewClient(s.store, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, policies := list.(*autorebootv1.RebootPolicyList); policies {
				return errors.New("broken")
			}
			return c.List(ctx, list, opts...)
		},
	})
	if s.reconcile(); len(s.killed) > 0 {
		t.Errorf("killed %q", s.killed)
	}
	s.expectCondition(chaosv1.ConditionWaiting, chaosv1.ReasonUnknown)
}

func drained(s *suite) *corev1.Node {
	s.Helper()
	var node corev1.Node
	s.must(s.store.Get(s.Context(), types.NamespacedName{Name: "n1"}, &node))
	node.Spec.Unschedulable = true
	return &node
}

func TestWithoutNodesNoNodeIsRead(t *testing.T) {
	s := newSuite(t, one)
	s.WithoutNodes = true
	s.Live = interceptor.NewClient(s.store, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
		if _, node := into.(*corev1.Node); node {
			t.Errorf("node %s is read", key.Name)
		}
		return c.Get(ctx, key, into, opts...)
	}})
	s.requestRun()
	if s.reconcile(); len(s.killed) != 1 {
		t.Errorf("killed %q", s.killed)
	}
}

func TestACacheThatIsBehindKillsNothingAgain(t *testing.T) {
	s := newSuite(t, one)
	s.requestRun()
	s.stale = s.object() // a run was asked for, and none is under way
	s.reconcile()
	if len(s.killed) != 1 {
		t.Fatalf("killed %q", s.killed)
	}
	s.restart() // so that nothing remembers what was written
	for range 3 {
		s.now = s.now.Add(time.Second)
		s.reconcile()
	}
	if len(s.killed) != 1 {
		t.Errorf("from a status of the past: killed %q", s.killed)
	}
}

func TestAChaosPodThatIsSuspendedBetweenTwoKillsKillsNoMore(t *testing.T) {
	s := newSuite(t, both)
	s.requestRun()
	s.onKill = func() {
		s.onKill = nil
		s.edit(func(c *chaosv1.ChaosPod) { c.Spec.Suspend, c.Generation = ptr.To(true), 2 })
	}
	for range 4 {
		s.reconcile()
		s.now = s.now.Add(time.Second)
	}
	if len(s.killed) != 1 {
		t.Errorf("killed %q", s.killed)
	}
}

func TestAProcessThatDiesAfterAKillKillsTheOthersThatTheStatusNamesAndNoMore(t *testing.T) {
	s := newSuite(t, both)
	s.requestRun()
	ctx, die := context.WithCancel(s.Context())
	s.onKill = die
	_, _ = s.Reconcile(ctx, reconcile.Request{NamespacedName: key})
	if len(s.killed) != 1 {
		t.Fatalf("killed %q before it died", s.killed)
	}
	s.onKill = nil
	s.restart()
	for range 4 {
		s.reconcile()
		s.now = s.now.Add(time.Second)
	}
	owners := map[string]int{}
	for _, pod := range s.killed {
		owners[pod[:3]]++
	}
	if len(s.killed) != 2 || owners["api"] != 1 || owners["web"] != 1 {
		t.Errorf("killed %q, want one of each", s.killed)
	}
}

// The cache does not hold since when a pod is ready.
func TestTheVerdictOnARunIsFromWhatTheApiServerHas(t *testing.T) {
	s := newSuite(t, one)
	var api appsv1.Deployment
	s.must(s.store.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "api"}, &api))
	api.Spec.MinReadySeconds = 60
	s.must(s.store.Update(t.Context(), &api))
	s.requestRun()
	s.reconcile()
	if len(s.killed) != 1 {
		t.Fatalf("killed %q", s.killed)
	}
	fresh := workload("api")
	for _, object := range fresh {
		if pod, ok := object.(*corev1.Pod); ok && pod.Name == s.killed[0] {
			pod.Name, pod.UID = "api-1-z", "uid-api-1-z"
			pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(s.now)
			s.must(s.store.Create(t.Context(), pod))
		}
	}
	s.Client = interceptor.NewClient(s.store, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if pods, ok := list.(*corev1.PodList); ok {
				for i := range pods.Items {
					pods.Items[i].Status.Conditions[0].LastTransitionTime = metav1.Time{}
				}
			}
			return err
		},
	})
	s.now = s.now.Add(30 * time.Second)
	s.reconcile()
	if run := s.object().Status.CurrentRun; run == nil {
		t.Fatal("a pod that has been ready for 30s counts as recovered, and minReadySeconds is 60")
	}
	s.now = s.now.Add(30 * time.Second)
	s.reconcile()
	if st := s.object().Status; st.CurrentRun != nil || len(st.History) != 1 || st.History[0].Result != chaosv1.ResultSurvived {
		t.Errorf("%+v", st)
	}
}

// A proxy that has lost the API server responds with 404 and a page of its own.
func TestThePageOfAProxyIsNotTheEndOfAWorkload(t *testing.T) {
	s := newSuite(t, one)
	s.requestRun()
	s.reconcile()
	for _, object := range workload("api") {
		if pod, ok := object.(*corev1.Pod); ok && len(s.killed) == 1 && pod.Name == s.killed[0] {
			pod.Name, pod.UID = "api-1-z", "uid-api-1-z"
			s.must(s.store.Create(t.Context(), pod))
		}
	}
	s.reconcile()
	s.Live = interceptor.NewClient(s.store, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if _, ok := into.(*appsv1.Deployment); ok {
				return apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{Group: "apps", Resource: "deployments"}, key.Name, "<html>", 0, true)
			}
			return c.Get(ctx, key, into, opts...)
		},
	})
	s.now = s.now.Add(40 * time.Second)
	s.reconcile()
	if st := s.object().Status; st.CurrentRun == nil || len(st.History) > 0 {
		t.Fatalf("the run has ended: %+v", st.History)
	}
	s.Live = s.store
	s.now = s.now.Add(40 * time.Second)
	s.reconcile()
	s.now = s.now.Add(40 * time.Second)
	s.reconcile()
	if st := s.object().Status; len(st.History) != 1 || st.History[0].Result != chaosv1.ResultSurvived {
		t.Errorf("%+v", st)
	}
}

// A run is decided twice, from the cache and from the API server. The first must not take the last slot of
// the cluster from the second.
func TestARunBeginsInTheLastSlot(t *testing.T) {
	s := newSuite(t, one)
	s.Ledger = disruption.New(disruption.Options{MaxDisrupted: 1})
	s.requestRun()
	if s.reconcile(); len(s.killed) != 1 {
		t.Errorf("killed %q; %+v", s.killed, s.object().Status.Conditions)
	}
}

func TestAClaimOutlivesTheProcess(t *testing.T) {
	s := newSuite(t, one)
	s.requestRun()
	s.reconcile()
	s.restart()
	busy := false
	s.Ledger.Do(disruption.Holder{Kind: disruption.RebootPolicy, NamespacedName: key}, "", func(v disruption.View) []disruption.Claim {
		busy = v.Disrupted["uid-api"]
		return nil
	})
	if !busy {
		t.Error("after a restart of the operator the workload is free, and the run is not verified")
	}
}

// A status is the operator's memory, and no right: a user who can write it has no pod killed that the
// approved spec does not take.
func TestAVictimThatTheSpecDoesNotTakeLives(t *testing.T) {
	s := newSuite(t, one)
	s.reconcile()
	object := s.object()
	now := metav1.NewTime(s.now)
	object.Status.CurrentRun = &chaosv1.CurrentRun{
		ID: "x", Phase: chaosv1.RunPlanned, StartTime: &now, Count: 1, RunInternals: chaosv1.RunInternals{Generation: 1},
		Victims: []chaosv1.Victim{{
			Name: "web-1-a", UID: "uid-web-1-a", Outcome: chaosv1.VictimPending, ReadyBefore: 3,
			Owner: &chaosv1.VictimOwner{Kind: "Deployment", Name: "web", UID: "uid-web"},
		}},
	}
	s.must(s.store.Status().Update(t.Context(), object))
	for range 3 {
		s.reconcile()
		s.now = s.now.Add(time.Second)
	}
	if run := s.object().Status.CurrentRun; len(s.killed) > 0 || run != nil {
		t.Errorf("killed %q; %+v", s.killed, run)
	}
}

// A status that was cleared by a user with the right to it must not free what it holds.
func TestAStatusThatIsRemovedHasNothingKilled(t *testing.T) {
	for name, remove := range map[string]func(*chaosv1.ChaosPodStatus){
		"all":          func(st *chaosv1.ChaosPodStatus) { *st = chaosv1.ChaosPodStatus{} },
		"the token":    func(st *chaosv1.ChaosPodStatus) { st.HandledRunNow = "" },
		"the run":      func(st *chaosv1.ChaosPodStatus) { st.CurrentRun = nil },
		"its victims":  func(st *chaosv1.ChaosPodStatus) { st.CurrentRun.Victims = nil },
		"both":         func(st *chaosv1.ChaosPodStatus) { st.HandledRunNow, st.CurrentRun = "", nil },
		"all it holds": func(st *chaosv1.ChaosPodStatus) { st.HandledRunNow, st.CurrentRun, st.KilledDay = "", nil, "" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, one)
			s.requestRun()
			s.reconcile()
			before := s.object()
			taken := before.DeepCopy()
			remove(&taken.Status)
			s.must(s.store.Status().Update(t.Context(), taken))
			for range 3 {
				s.now = s.now.Add(time.Second)
				s.reconcile()
			}
			st := s.object().Status
			if len(s.killed) != 1 || st.CurrentRun == nil || st.CurrentRun.ID != before.Status.CurrentRun.ID || st.KilledToday != 1 || st.HandledRunNow != "1" {
				t.Errorf("killed %q; %+v", s.killed, st)
			}
			if got := strings.Count(strings.Join(s.events, " "), "StatusLost"); got != 1 {
				t.Errorf("told %q", s.events)
			}
		})
	}
}

func TestAWriteOfTheStatusWhoseAnswerIsLostIsNotTakenForThatOfAnotherWriter(t *testing.T) {
	for lost := range 6 {
		s := newSuite(t, one)
		s.requestRun()
		accepts, n := s.Client, 0
		s.Client = interceptor.NewClient(s.store, interceptor.Funcs{SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, object client.Object, o ...client.SubResourceUpdateOption) error {
			err := c.SubResource(sub).Update(ctx, object, o...)
			if n++; n == lost+1 {
				err = errors.Join(err, errors.New("EOF"))
			}
			return err
		}})
		for range 8 {
			s.now = s.now.Add(10 * time.Second)
			_, _ = s.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}) // the lost answer is its error
		}
		s.Client = accepts
		st := s.object().Status
		if len(s.killed) != 1 || st.KilledToday != 1 {
			t.Errorf("answer %d lost: killed %q; %+v", lost, s.killed, st)
		}
		if told := strings.Join(s.events, " "); strings.Contains(told, "StatusLost") {
			t.Errorf("answer %d lost: told %q", lost, told)
		}
	}
}

func TestAStatusThatTheAPIServerRefusesIsToldOnceAndTriedAgain(t *testing.T) {
	s := newSuite(t, one)
	s.requestRun()
	accepts := s.Client
	s.Client = interceptor.NewClient(s.store, interceptor.Funcs{SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "chaospods"}, "c", errors.New("denied by policy x"))
	}})
	for range 5 {
		result, err := s.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
		if err != nil || result.RequeueAfter < 10*time.Second || result.RequeueAfter > time.Minute {
			t.Fatalf("%+v, %v", result, err)
		}
		s.now = s.now.Add(result.RequeueAfter)
	}
	if got := strings.Count(strings.Join(s.events, " "), "WriteRefused"); got != 1 || len(s.killed) > 0 {
		t.Errorf("told %q, killed %q", s.events, s.killed)
	}
	s.Client = accepts
	s.reconcile()
	if len(s.killed) != 1 {
		t.Errorf("killed %q", s.killed)
	}
}

// What is refused is tried again, and told once.
func TestACanaryThatIsRefusedIsToldOnce(t *testing.T) {
	for reason, refusal := range map[string]error{
		chaosv1.ReasonForbidden:    apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "c", errors.New("exceeded quota")),
		chaosv1.ReasonWriteRefused: apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "c", nil),
	} {
		s := newSuite(t, "{dryRun: false, target: {template: {spec: {containers: [{name: main, image: none}]}}}, schedule: {interval: 1h}}")
		tries := 0
		s.As = func(context.Context, string, string) (client.Client, error) {
			return interceptor.NewClient(s.store, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				tries++
				return refusal
			}}), nil
		}
		for range 40 {
			s.reconcile()
			s.now = s.now.Add(5 * time.Second)
		}
		s.expectCondition(chaosv1.ConditionReady, reason)
		told := slices.DeleteFunc(slices.Clone(s.events), func(event string) bool { return event != reason })
		if tries < 4 || len(told) != 1 || slices.Contains(s.events[1:], chaosv1.ReasonScheduled) {
			t.Errorf("%s: after %d tries told %q", reason, tries, s.events)
		}
	}
}
