// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

// fakeQueue notes what is added, and when it is due.
type fakeQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	now   int
	later []time.Duration
}

func (q *fakeQueue) Add(reconcile.Request)                         { q.now++ }
func (q *fakeQueue) AddAfter(_ reconcile.Request, d time.Duration) { q.later = append(q.later, d) }

func newEnqueuer(t *testing.T, now func() time.Time) (*controller.CoalescingEnqueuer, *fakeQueue) {
	t.Helper()
	b, q := controller.NewCoalescingEnqueuer(now), &fakeQueue{}
	if err := b.Source().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	return b, q
}

func TestAStormOfEventsIsOneLookASecond(t *testing.T) {
	now := epoch
	b, q := newEnqueuer(t, func() time.Time { return now })
	b.EnqueueCoalesced(policyKey)
	if q.now != 1 {
		t.Fatalf("the first event: %d looks", q.now)
	}
	for range 999 {
		now = now.Add(time.Millisecond)
		b.EnqueueCoalesced(policyKey)
	}
	if q.now != 1 || len(q.later) != 999 || q.later[0] > controller.CoalescingInterval || q.later[998] != time.Millisecond {
		t.Errorf("%d looks at once, the last event is looked at after %s", q.now, q.later[len(q.later)-1])
	}
	now = now.Add(time.Second)
	b.EnqueueCoalesced(policyKey)
	if q.now != 2 {
		t.Errorf("after some quiet: %d looks", q.now)
	}
	b.Enqueue(policyKey)
	if q.now != 3 {
		t.Error("what matters waits")
	}
	b.SetInterval(policyKey, 2*controller.CoalescingInterval)
	now = now.Add(controller.CoalescingInterval)
	b.EnqueueCoalesced(policyKey)
	if q.now != 3 || q.later[len(q.later)-1] != controller.CoalescingInterval {
		t.Errorf("%d looks, the next after %s, although the interval is longer", q.now, q.later[len(q.later)-1])
	}
	now = now.Add(time.Minute)
	b.SetInterval(policyKey, controller.CoalescingInterval) // by a reconcile that no event asked for
	now = now.Add(time.Millisecond)
	b.EnqueueCoalesced(policyKey)
	if q.now != 3 || q.later[len(q.later)-1] != controller.CoalescingInterval-time.Millisecond {
		t.Errorf("%d looks, the next after %s, although there was one just now", q.now, q.later[len(q.later)-1])
	}
}

func TestOnlyPoliciesThatCareAreStirred(t *testing.T) {
	now := epoch
	b, q := newEnqueuer(t, func() time.Time { return now })
	r := &Reconciler{enqueuer: b, watchIndex: &controller.WatchIndex[*watchSet]{}}
	spec := &autorebootv1.RebootPolicySpec{
		Targets: []autorebootv1.Target{
			{Kind: common.WorkloadDeployment, Name: "api"},
			{Kind: common.WorkloadDeployment, Selector: &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"part": "shop"}}},
		},
		Gates: []autorebootv1.Gate{
			{Condition: &autorebootv1.ObjectCondition{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "ledger"}},
			{NoPods: &autorebootv1.NoPods{Selector: &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"job": "month-end"}}}},
			{Condition: &autorebootv1.ObjectCondition{APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService", Name: "db", Type: "Healthy"}},
			{Condition: &autorebootv1.ObjectCondition{APIVersion: "chaos.fairlead.dev/v1", Kind: "ChaosPod", Name: "c", Type: "Survived"}},
		},
		Triggers: []autorebootv1.Trigger{{EndpointsChange: &autorebootv1.EndpointsChange{ExternalServiceName: "cache"}}},
	}
	r.updateWatchSet(policyKey, watchSetOf(spec))
	r.updateOwners(policyKey, map[types.UID]bool{"uid-api": true, "rs-1": true})
	r.updateWatchSet(policyKey, watchSetOf(spec)) // the owners stay
	workload := func(kind common.WorkloadKind, name string, set labels.Set) func(*watchSet) bool {
		return func(w *watchSet) bool { return w.matchesWorkload(kind, name, "", set) }
	}
	for name, test := range map[string]struct {
		namespace string
		cares     func(*watchSet) bool
		want      bool
	}{
		"a target by name":          {"shop", workload(common.WorkloadDeployment, "api", nil), true},
		"another kind by that name": {"shop", workload(common.WorkloadDaemonSet, "api", nil), false},
		"another namespace":         {"bank", workload(common.WorkloadDeployment, "api", nil), false},
		"a target by labels":        {"shop", workload(common.WorkloadDeployment, "web", labels.Set{"part": "shop"}), true},
		"other labels":              {"shop", workload(common.WorkloadDeployment, "web", labels.Set{"part": "bank"}), false},
		"a gate's workload":         {"shop", workload(common.WorkloadStatefulSet, "ledger", nil), true},
		"a pod of a target":         {"shop", func(w *watchSet) bool { return w.matchesPod("rs-1", nil) }, true},
		"a pod of another workload": {"shop", func(w *watchSet) bool { return w.matchesPod("rs-2", nil) }, false},
		"a pod that closes a gate":  {"shop", func(w *watchSet) bool { return w.matchesPod("", labels.Set{"job": "month-end"}) }, true},
		"a gate's ExternalService":  {"shop", func(w *watchSet) bool { return w.externalServices["db"] }, true},
		"a gate's ChaosPod":         {"shop", func(w *watchSet) bool { return w.chaosPods["c"] }, true},
		"another ChaosPod":          {"shop", func(w *watchSet) bool { return w.chaosPods["db"] }, false},
		"what budgets refused":      {"shop", func(w *watchSet) bool { return w.matchesBlocked(refused("shop", "db", "api", 1, "").Status.Blocked) }, true},
		"of another workload":       {"shop", func(w *watchSet) bool { return w.matchesBlocked(refused("shop", "db", "web", 1, "").Status.Blocked) }, false},
		"a trigger's":               {"shop", func(w *watchSet) bool { return w.externalServices["cache"] }, true},
		"another ExternalService":   {"shop", func(w *watchSet) bool { return w.externalServices["other"] }, false},
	} {
		if got := len(r.watchIndex.In(test.namespace, test.cares)) == 1; got != test.want {
			t.Errorf("%s: heard of: %t", name, got)
		}
	}

	handler := controller.EnqueueFor(r.enqueuer, r.watchIndex, workloadMatcher(common.WorkloadDeployment))
	named := func(name, version string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: version}}
	}
	handler.Update(t.Context(), event.TypedUpdateEvent[client.Object]{ObjectOld: named("api", "1"), ObjectNew: named("api", "1")}, nil)
	handler.Create(t.Context(), event.TypedCreateEvent[client.Object]{Object: named("other", "1")}, nil)
	if q.now != 0 {
		t.Error("a resync, or another policy's workload, is looked at")
	}
	handler.Update(t.Context(), event.TypedUpdateEvent[client.Object]{ObjectOld: named("api", "1"), ObjectNew: named("api", "2")}, nil)
	if q.now != 1 {
		t.Error("a change of a target is not looked at")
	}
	r.watchIndex.Forget(policyKey)
	if len(r.watchIndex.All()) != 0 {
		t.Error("a namespace without policies is remembered")
	}
}

func TestPodsThatOnlyBreatheAreNotLookedAt(t *testing.T) {
	moves := podChanged()
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"a heartbeat":     {func(p *corev1.Pod) { p.ResourceVersion = "2" }, false},
		"not ready":       {func(p *corev1.Pod) { p.Status.Conditions = nil }, true},
		"finished":        {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, true},
		"terminating":     {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: epoch} }, true},
		"restarted":       {func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}} }, true},
		"another address": {func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.2" }, true},
		"other labels":    {func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }, true},
	} {
		after := pod("a", nil)
		test.change(after)
		if got := moves.Update(event.TypedUpdateEvent[*corev1.Pod]{ObjectOld: pod("a", nil), ObjectNew: after}); got != test.want {
			t.Errorf("%s: looked at: %t", name, got)
		}
	}
}

func TestTheAnnotationsOfAUserAreHeardOf(t *testing.T) {
	policy := func(annotation, value string) *autorebootv1.RebootPolicy {
		return &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotation: value}}}
	}
	for annotation, want := range map[string]bool{autorebootv1.RestartNowAnnotation: true, autorebootv1.RetryAnnotation: true, "note": false} {
		if got := controller.AnnotationsChanged[*autorebootv1.RebootPolicy](requestAnnotations()).Update(event.TypedUpdateEvent[*autorebootv1.RebootPolicy]{ObjectOld: policy(annotation, "a"), ObjectNew: policy(annotation, "b")}); got != want {
			t.Errorf("%s: %t", annotation, got)
		}
	}
}

func TestTheCacheHoldsOfAPodWhatDecisionsAreMadeFrom(t *testing.T) {
	p := pod("a", append(owned("ReplicaSet", "rs", "u"), metav1.OwnerReference{Kind: "Other"}))
	p.Labels, p.Annotations = map[string]string{"a": "b"}, map[string]string{"big": "x"}
	p.Spec.Containers = []corev1.Container{{Name: "c"}}
	p.Status.Message = "long"
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", RestartCount: 1}, {Name: "b", RestartCount: 2}}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled})
	whole := p.DeepCopy()
	stripped, err := stripPod(p)
	if err != nil {
		t.Fatal(err)
	}
	want := pod("a", owned("ReplicaSet", "rs", "u"))
	want.Labels = map[string]string{"a": "b"}
	want.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 3}}
	if diff := cmp.Diff(want, stripped); diff != "" {
		t.Error(diff)
	}
	if !samePod(whole, p) {
		t.Error("what is left leads to other decisions")
	}
}

func TestTheCacheDropsWhatIsNotReadOfAWorkload(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Annotations:   map[string]string{lastApplied: "all of it", "kept": "x"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	if _, err := stripWorkload(d); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(metav1.ObjectMeta{Annotations: map[string]string{"kept": "x"}}, d.ObjectMeta); diff != "" {
		t.Error(diff)
	}
	rs := workloads.ReplicaSets()
	rs.Labels, rs.OwnerReferences = map[string]string{"a": "b"}, owned("Deployment", "api", "u")
	if _, err := stripReplicaSet(rs); err != nil || rs.Labels != nil || workloads.ControllerOf(rs) != "u" {
		t.Errorf("a ReplicaSet keeps %+v (%v)", rs.ObjectMeta, err)
	}
}

func TestAPolicyWhoseWritesTakeLongIsLookedAtLessOften(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0: controller.CoalescingInterval, 50 * time.Millisecond: controller.CoalescingInterval + time.Second, time.Second: maxInterval,
	} {
		o := &observation{state: &objectState{writeTook: took}}
		if got := o.interval(); got != want {
			t.Errorf("after a write of %s: every %s, want %s", took, got, want)
		}
	}
}

func TestOwnWritesAndFreeSlotsBringAboutOneReconcileInAnInterval(t *testing.T) {
	now := epoch
	b, q := newEnqueuer(t, func() time.Time { return now })
	c := &Controller{reconciler: &Reconciler{enqueuer: b}}
	policy := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: policyKey.Namespace, Name: policyKey.Name}}
	for name, enqueue := range map[string]func(){
		"a slot": func() { c.Wake(holderOf(policyKey)) },
		"a write": func() {
			enqueueSelf(c.reconciler).Update(t.Context(), event.TypedUpdateEvent[*autorebootv1.RebootPolicy]{ObjectOld: policy, ObjectNew: policy}, q)
		},
	} {
		q.now, q.later = 0, nil
		b.SetInterval(policyKey, controller.CoalescingInterval)
		enqueue()
		if q.now != 0 || len(q.later) != 1 || q.later[0] != controller.CoalescingInterval {
			t.Errorf("%s right after a reconcile: %d at once, later %v", name, q.now, q.later)
		}
		now = now.Add(controller.CoalescingInterval)
		if enqueue(); q.now != 1 {
			t.Errorf("%s after the interval: %d at once", name, q.now)
		}
	}
}
