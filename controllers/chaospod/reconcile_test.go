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
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/internal/cron"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

var (
	epoch = time.Date(2026, time.March, 2, 14, 0, 0, 0, time.UTC)
	key   = types.NamespacedName{Namespace: "shop", Name: "c"}
)

// stage is a reconciler with everything around it in memory.
type stage struct {
	testing.TB
	*Reconciler
	store client.WithWatch
	now   time.Time
	// stale is what the cache has instead of the ChaosPod.
	stale *chaosv1.ChaosPod
	// killed are the pods whose eviction was asked for, and onKill is called with each.
	killed []string
	onKill func()
	events []string
}

func newStage(t testing.TB, spec string) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, chaosv1.AddToScheme, networkingv1.AddToScheme, autorebootv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &stage{TB: t, now: epoch}
	objects := []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}
	for _, name := range []string{"api", "web"} {
		objects = append(objects, workload(name)...)
	}
	s.store = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&chaosv1.ChaosPod{}).
		WithIndex(&corev1.Pod{}, workloads.ByOwner, workloads.OwnerOf).WithIndex(workloads.ReplicaSets(), workloads.ByOwner, workloads.OwnerOf).Build()
	object := &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, UID: "uid-c", Generation: 1, CreationTimestamp: metav1.NewTime(epoch.Add(-time.Hour)),
	}}
	if err := yaml.UnmarshalStrict([]byte(spec), &object.Spec); err != nil {
		t.Fatal(err)
	}
	approve(object)
	s.must(s.store.Create(t.Context(), object))
	s.restart()
	return s
}

// restart is another process: it has forgotten everything that is not in the API server.
func (s *stage) restart() {
	ledger := disruption.New(disruption.Options{})
	s.must(Restore(s.Context(), s.store, ledger))
	s.Reconciler = newReconciler(Reconciler{
		Client: interceptor.NewClient(s.store, interceptor.Funcs{Get: s.cached}), Live: s.store, Ledger: ledger, Events: s,
		Now: func() time.Time { return s.now }, Denied: []string{"kube-system"}, Suspicions: &probe.Suspicions{},
		As: func(string, string) (client.Client, error) {
			return interceptor.NewClient(s.store, interceptor.Funcs{SubResourceCreate: s.evict}), nil
		},
	})
}

func (s *stage) cached(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if object, ok := into.(*chaosv1.ChaosPod); ok && s.stale != nil {
		s.stale.DeepCopyInto(object)
		return nil
	}
	return c.Get(ctx, key, into, opts...)
}

// evict complains of a victim that is not in the status that is stored.
func (s *stage) evict(ctx context.Context, c client.Client, _ string, pod, _ client.Object, _ ...client.SubResourceCreateOption) error {
	run := s.object().Status.CurrentRun
	if run == nil || !slices.ContainsFunc(run.Victims, func(v chaosv1.Victim) bool { return v.Name == pod.GetName() }) {
		s.Errorf("%s is not in the status that is stored", pod.GetName())
	}
	s.killed = append(s.killed, pod.GetName())
	if s.onKill != nil {
		s.onKill()
	}
	return c.Delete(ctx, pod)
}

func (s *stage) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	s.events = append(s.events, reason)
}

func (s *stage) AnnotatedEventf(a, b runtime.Object, _ map[string]string, kind, reason, action, note string, args ...any) {
	s.Eventf(a, b, kind, reason, action, note, args...)
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func approve(object *chaosv1.ChaosPod) {
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	object.Annotations[common.ApprovedByAnnotation] = approval.Value("ann", approval.ChaosPodDigest(&object.Spec))
}

func (s *stage) object() *chaosv1.ChaosPod {
	s.Helper()
	var object chaosv1.ChaosPod
	s.must(s.store.Get(s.Context(), key, &object))
	return &object
}

func (s *stage) edit(change func(*chaosv1.ChaosPod)) {
	s.Helper()
	object := s.object()
	change(object)
	s.must(s.store.Update(s.Context(), object))
}

func (s *stage) reconciles() {
	s.Helper()
	_, err := s.Reconcile(s.Context(), reconcile.Request{NamespacedName: key})
	s.must(err)
}

// asks begins with an object that was seen, and asks for a run.
func (s *stage) asks() {
	s.Helper()
	s.reconciles()
	s.now = s.now.Add(time.Second)
	s.edit(func(object *chaosv1.ChaosPod) { object.Annotations[chaosv1.RunNowAnnotation] = "1" })
}

// says demands a condition.
func (s *stage) says(kind, reason string) {
	s.Helper()
	if c := meta.FindStatusCondition(s.object().Status.Conditions, kind); c == nil || c.Reason != reason {
		s.Errorf("%s is %+v, want %s", kind, c, reason)
	}
}

// workload is a Deployment of three pods that has rolled out.
func workload(name string) []client.Object {
	owned := func(kind, owner string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, UID: types.UID("uid-" + owner), Controller: ptr.To(true)}}
	}
	set := map[string]string{"app": name}
	objects := []client.Object{
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name, UID: types.UID("uid-" + name), Generation: 1},
			Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: set}},
			Status:     appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3},
		},
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name + "-1", UID: types.UID("uid-" + name + "-1"), Labels: set, OwnerReferences: owned("Deployment", name)}},
	}
	for _, n := range []string{"a", "b", "d"} {
		pod := name + "-1-" + n
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: pod, UID: types.UID("uid-" + pod), Labels: map[string]string{"app": name, "chaos": "me"},
				OwnerReferences: owned("ReplicaSet", name+"-1"), CreationTimestamp: metav1.NewTime(epoch.Add(-time.Hour)),
			},
			Spec: corev1.PodSpec{NodeName: "n1"},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(epoch.Add(-time.Hour))},
			}},
		})
	}
	return objects
}

const (
	one  = `{dryRun: false, target: {workload: {kind: Deployment, name: api}}, schedule: {cron: "0 0 29 2 *"}}`
	both = `{dryRun: false, count: 100%, target: {selector: {matchLabels: {chaos: me}}}, schedule: {cron: "0 0 29 2 *"}}`
)

func TestARunKillsOnePodThatTheStatusNames(t *testing.T) {
	s := newStage(t, one)
	s.asks()
	s.reconciles()
	s.reconciles()
	if len(s.killed) != 1 || !strings.HasPrefix(s.killed[0], "api-") {
		t.Errorf("killed %q", s.killed)
	}
	s.says(chaosv1.ConditionRunning, chaosv1.ReasonVerifying)
	if !slices.Contains(s.events, "ChaosPlanned") || !slices.Contains(s.events, "PodEvicted") {
		t.Errorf("told %q", s.events)
	}
}

func TestWhatMayNotKillKillsNothing(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*stage)
		kind   string
		reason string
	}{
		"no approval": {func(s *stage) {
			s.edit(func(c *chaosv1.ChaosPod) { delete(c.Annotations, common.ApprovedByAnnotation) })
		}, chaosv1.ConditionReady, chaosv1.ReasonForbidden},
		"another's approval": {func(s *stage) {
			s.edit(func(c *chaosv1.ChaosPod) { c.Spec.Action = &chaosv1.Action{Type: ptr.To(chaosv1.ActionDelete)} })
		}, chaosv1.ConditionReady, chaosv1.ReasonForbidden},
		"a namespace that is denied": {func(s *stage) { s.Denied = []string{"shop"} }, chaosv1.ConditionReady, chaosv1.ReasonForbidden},
		"a network at fault":         {func(s *stage) { suspects(s, true) }, chaosv1.ConditionHeld, chaosv1.ReasonProbeSelfSuspect},
		"a node that is drained":     {func(s *stage) { s.must(s.store.Update(s.Context(), drained(s))) }, "", ""},
		"a node that is not known":   {func(s *stage) { s.must(s.store.Delete(s.Context(), drained(s))) }, "", ""},
		"a rollout": {func(s *stage) {
			var d appsv1.Deployment
			s.must(s.store.Get(s.Context(), types.NamespacedName{Namespace: "shop", Name: "api"}, &d))
			d.Generation = 2
			s.must(s.store.Update(s.Context(), &d))
		}, chaosv1.ConditionHeld, chaosv1.ReasonUnstable},
		"a restart": {func(s *stage) {
			holder := disruption.Holder{Kind: disruption.RebootPolicy, NamespacedName: key}
			s.Ledger.Restore(holder, "", []disruption.Claim{{UID: "uid-api"}})
		}, chaosv1.ConditionHeld, chaosv1.ReasonRestartInProgress},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, one)
			s.asks()
			test.change(s)
			s.reconciles()
			s.reconciles()
			if len(s.killed) > 0 {
				t.Errorf("killed %q", s.killed)
			}
			if test.kind != "" {
				s.says(test.kind, test.reason)
			}
		})
	}
}

// suspects has the health checks of another kind find this process at fault, or not any more.
func suspects(s *stage, suspect bool) {
	s.Suspicions.OnSuspect("ExternalService", func(bool, string) {})(suspect, "a test")
}

func TestARunThatASuspicionHoldsBeginsWhenItEnds(t *testing.T) {
	s := newStage(t, one)
	s.reconciles()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	s.must(s.enqueuer.Source().Start(t.Context(), queue))
	suspects(s, true)
	s.asks()
	s.reconciles()
	s.says(chaosv1.ConditionHeld, chaosv1.ReasonProbeSelfSuspect)
	for queue.Len() > 0 {
		request, down := queue.Get()
		if down {
			t.Fatal("the queue is shut down")
		}
		queue.Done(request)
	}
	s.now = s.now.Add(time.Hour)
	if s.reconciles(); len(s.killed) > 0 {
		t.Fatalf("killed %q", s.killed)
	}
	if suspects(s, false); queue.Len() != 1 {
		t.Errorf("%d ChaosPods are looked at when the suspicion ends, want 1", queue.Len())
	}
	if s.reconciles(); len(s.killed) != 1 {
		t.Errorf("killed %q", s.killed)
	}
}

func TestASuspicionThatBeginsBetweenTwoKillsSparesTheOthers(t *testing.T) {
	s := newStage(t, both)
	s.asks()
	s.onKill = func() { suspects(s, true) }
	for range 4 {
		s.reconciles()
		s.now = s.now.Add(time.Second)
	}
	if len(s.killed) != 1 {
		t.Errorf("killed %q", s.killed)
	}
	run := s.object().Status.CurrentRun
	if run == nil || run.Phase != chaosv1.RunVerifying || !slices.ContainsFunc(run.Victims, func(v chaosv1.Victim) bool {
		return v.Outcome == chaosv1.VictimSpared && v.Reason == chaosv1.ReasonProbeSelfSuspect
	}) {
		t.Errorf("%+v", run)
	}
}

func TestASuspicionThatBeginsBeforeTheFirstKillHoldsTheRun(t *testing.T) {
	s := newStage(t, one)
	s.asks()
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
	s.As = func(string, string) (client.Client, error) { return nil, errors.New("this process has ended") }
	_, _ = s.Reconcile(ctx, reconcile.Request{NamespacedName: key})
	planned := s.object().Status.CurrentRun
	if planned == nil || len(s.killed) > 0 {
		t.Fatalf("killed %q: %+v", s.killed, planned)
	}
	s.restart()
	suspects(s, true)
	for range 3 {
		s.now = s.now.Add(time.Minute)
		s.reconciles()
	}
	s.says(chaosv1.ConditionHeld, chaosv1.ReasonProbeSelfSuspect)
	if len(s.killed) > 0 {
		t.Fatalf("killed %q", s.killed)
	}
	suspects(s, false)
	if s.reconciles(); !slices.Equal(s.killed, []string{planned.Victims[0].Name}) {
		t.Errorf("killed %q, and %s was chosen", s.killed, planned.Victims[0].Name)
	}
}

func TestAFreezeOfTheClusterHoldsChaos(t *testing.T) {
	s := newStage(t, one)
	frozen, err := freeze.New(freeze.Options{Now: func() time.Time { return s.now }, Configured: []cron.Blackout{
		{Name: "release", Start: ptr.To(metav1.NewTime(epoch.Add(-time.Hour))), End: ptr.To(metav1.NewTime(epoch.Add(time.Hour)))},
	}})
	s.must(err)
	s.Freeze = frozen
	s.asks()
	if s.reconciles(); len(s.killed) > 0 {
		t.Fatalf("killed %q", s.killed)
	}
	s.says(chaosv1.ConditionHeld, chaosv1.ReasonBlackout)
	if c := meta.FindStatusCondition(s.object().Status.Conditions, chaosv1.ConditionHeld); !strings.Contains(c.Message, "2026-03-02T15:00:00Z") {
		t.Errorf("the end of the freeze is not in %q", c.Message)
	}
	s.now = epoch.Add(time.Hour)
	if s.reconciles(); len(s.killed) != 1 {
		t.Errorf("killed %q after the freeze", s.killed)
	}
}

// gameDay has a fault injected into ExternalService db, and a RebootPolicy of a workload by which it depends
// on db.
func (s *stage) gameDay(workload string) *networkingv1.ExternalService {
	s.Helper()
	s.must(s.store.Create(s.Context(), &autorebootv1.RebootPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "p"},
		Spec:       autorebootv1.RebootPolicySpec{Gates: []autorebootv1.Gate{{Type: autorebootv1.GateExternalServiceHealthy, Name: "db"}}},
		Status:     autorebootv1.RebootPolicyStatus{Targets: []autorebootv1.TargetStatus{{Kind: autorebootv1.TargetDeployment, Name: workload}}},
	}))
	es := &networkingv1.ExternalService{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "db"}}
	meta.SetStatusCondition(&es.Status.Conditions, metav1.Condition{Type: networkingv1.ConditionFaultInjected, Status: metav1.ConditionTrue, Reason: "BlackHole", Message: "until 14:10"})
	s.must(s.store.Create(s.Context(), es))
	return es
}

func TestAFaultHoldsTheChaosOfWhatDependsOnItAlone(t *testing.T) {
	s := newStage(t, one)
	es := s.gameDay("api")
	s.asks()
	if s.reconciles(); len(s.killed) > 0 {
		t.Fatalf("killed %q", s.killed)
	}
	s.says(chaosv1.ConditionHeld, chaosv1.ReasonFaultInjected)
	if c := meta.FindStatusCondition(s.object().Status.Conditions, chaosv1.ConditionHeld); !strings.Contains(c.Message, "ExternalService db: until 14:10") {
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
	if s.reconciles(); len(s.killed) != 1 {
		t.Errorf("killed %q after the fault", s.killed)
	}

	s = newStage(t, both)
	s.gameDay("web")
	s.asks()
	if s.reconciles(); len(s.killed) != 1 || !strings.HasPrefix(s.killed[0], "api-") {
		t.Errorf("killed %q, and only web depends on db", s.killed)
	}
}

func TestWhatCannotBeReadOfFaultsHoldsChaos(t *testing.T) {
	s := newStage(t, one)
	s.gameDay("web")
	s.asks()
	s.Client = interceptor.NewClient(s.store, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, policies := list.(*autorebootv1.RebootPolicyList); policies {
				return errors.New("broken")
			}
			return c.List(ctx, list, opts...)
		},
	})
	if s.reconciles(); len(s.killed) > 0 {
		t.Errorf("killed %q", s.killed)
	}
	s.says(chaosv1.ConditionHeld, chaosv1.ReasonUnknown)
}

func drained(s *stage) *corev1.Node {
	s.Helper()
	var node corev1.Node
	s.must(s.store.Get(s.Context(), types.NamespacedName{Name: "n1"}, &node))
	node.Spec.Unschedulable = true
	return &node
}

func TestACacheThatIsBehindKillsNothingAgain(t *testing.T) {
	s := newStage(t, one)
	s.asks()
	s.stale = s.object() // a run was asked for, and none is under way
	s.reconciles()
	if len(s.killed) != 1 {
		t.Fatalf("killed %q", s.killed)
	}
	s.restart() // so that nothing remembers what was written
	for range 3 {
		s.now = s.now.Add(time.Second)
		s.reconciles()
	}
	if len(s.killed) != 1 {
		t.Errorf("from a status of the past: killed %q", s.killed)
	}
}

func TestAChaosPodThatIsSuspendedBetweenTwoKillsKillsNoMore(t *testing.T) {
	s := newStage(t, both)
	s.asks()
	s.onKill = func() {
		s.onKill = nil
		s.edit(func(c *chaosv1.ChaosPod) { c.Spec.Suspend, c.Generation = ptr.To(true), 2 })
	}
	for range 4 {
		s.reconciles()
		s.now = s.now.Add(time.Second)
	}
	if len(s.killed) != 1 {
		t.Errorf("killed %q", s.killed)
	}
}

func TestAProcessThatDiesAfterAKillKillsTheOthersThatTheStatusNamesAndNoMore(t *testing.T) {
	s := newStage(t, both)
	s.asks()
	ctx, die := context.WithCancel(s.Context())
	s.onKill = die
	_, _ = s.Reconcile(ctx, reconcile.Request{NamespacedName: key})
	if len(s.killed) != 1 {
		t.Fatalf("killed %q before it died", s.killed)
	}
	s.onKill = nil
	s.restart()
	for range 4 {
		s.reconciles()
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
	s := newStage(t, one)
	var api appsv1.Deployment
	s.must(s.store.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "api"}, &api))
	api.Spec.MinReadySeconds = 60
	s.must(s.store.Update(t.Context(), &api))
	s.asks()
	s.reconciles()
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
	s.reconciles()
	if run := s.object().Status.CurrentRun; run == nil {
		t.Fatal("a pod that has been ready for 30s counts as recovered, and minReadySeconds is 60")
	}
	s.now = s.now.Add(30 * time.Second)
	s.reconciles()
	if st := s.object().Status; st.CurrentRun != nil || len(st.Runs) != 1 || st.Runs[0].Outcome != chaosv1.RunSurvived {
		t.Errorf("%+v", st)
	}
}

// A run is decided twice, from the cache and from the API server. The first must not take the last slot of
// the cluster from the second.
func TestARunBeginsInTheLastSlot(t *testing.T) {
	s := newStage(t, one)
	s.Ledger = disruption.New(disruption.Options{MaxDisrupted: 1})
	s.asks()
	if s.reconciles(); len(s.killed) != 1 {
		t.Errorf("killed %q; %+v", s.killed, s.object().Status.Conditions)
	}
}

func TestAClaimOutlivesTheProcess(t *testing.T) {
	s := newStage(t, one)
	s.asks()
	s.reconciles()
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
	s := newStage(t, one)
	s.reconciles()
	object := s.object()
	now := metav1.NewTime(s.now)
	object.Status.CurrentRun = &chaosv1.CurrentRun{
		ID: "x", Phase: chaosv1.RunPlanned, StartedTime: &now, Generation: 1, Count: 1,
		Victims: []chaosv1.Victim{{
			Name: "web-1-a", UID: "uid-web-1-a", Outcome: chaosv1.VictimPending, ReadyBefore: 3,
			Owner: &chaosv1.VictimOwner{Kind: "Deployment", Name: "web", UID: "uid-web"},
		}},
	}
	s.must(s.store.Status().Update(t.Context(), object))
	for range 3 {
		s.reconciles()
		s.now = s.now.Add(time.Second)
	}
	if run := s.object().Status.CurrentRun; len(s.killed) > 0 || run != nil {
		t.Errorf("killed %q; %+v", s.killed, run)
	}
}
