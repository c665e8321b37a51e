// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

var (
	epoch = time.Date(2026, time.March, 2, 14, 0, 0, 0, time.UTC)
	key   = types.NamespacedName{Namespace: "shop", Name: "c"}
)

// suite is a reconciler with everything around it in memory.
type suite struct {
	testing.TB
	*Reconciler
	store client.WithWatch
	now   time.Time
	// stale is the ChaosPod as a stale cache returns it.
	stale *chaosv1.ChaosPod
	// killed are the pods whose eviction was asked for, and onKill is called with each.
	killed []string
	onKill func()
	events []string
	sender *fakeRequests
}

func newSuite(t testing.TB, spec string) *suite {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{argorollouts.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, chaosv1.AddToScheme, networkingv1.AddToScheme, autorebootv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &suite{TB: t, now: epoch, sender: &fakeRequests{}}
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
func (s *suite) restart() {
	ledger := disruption.New(disruption.Options{})
	s.must(Restore(s.Context(), s.store, ledger))
	s.Reconciler = newReconciler(Reconciler{
		Client: interceptor.NewClient(s.store, interceptor.Funcs{Get: s.cached}), Live: s.store, Ledger: ledger, Events: s,
		Now: func() time.Time { return s.now }, Denied: []string{"kube-system"}, Suspicions: &probe.Suspicions{},
		Requests: s.sender,
		As: func(context.Context, string, string) (client.Client, error) {
			return interceptor.NewClient(s.store, interceptor.Funcs{SubResourceCreate: s.evict}), nil
		},
	})
}

func (s *suite) cached(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if object, ok := into.(*chaosv1.ChaosPod); ok && s.stale != nil {
		s.stale.DeepCopyInto(object)
		return nil
	}
	return c.Get(ctx, key, into, opts...)
}

// evict complains of a victim that is not in the status that is stored.
func (s *suite) evict(ctx context.Context, c client.Client, _ string, pod, _ client.Object, _ ...client.SubResourceCreateOption) error {
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

func (s *suite) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	s.events = append(s.events, reason)
}

func (s *suite) AnnotatedEventf(a, b runtime.Object, _ map[string]string, kind, reason, action, note string, args ...any) {
	s.Eventf(a, b, kind, reason, action, note, args...)
}

func (s *suite) must(err error) {
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

func (s *suite) object() *chaosv1.ChaosPod {
	s.Helper()
	var object chaosv1.ChaosPod
	s.must(s.store.Get(s.Context(), key, &object))
	return &object
}

func (s *suite) edit(change func(*chaosv1.ChaosPod)) {
	s.Helper()
	object := s.object()
	change(object)
	s.must(s.store.Update(s.Context(), object))
}

func (s *suite) reconcile() {
	s.Helper()
	_, err := s.Reconcile(s.Context(), reconcile.Request{NamespacedName: key})
	s.must(err)
}

// asks begins with an object that was seen, and asks for a run.
func (s *suite) requestRun() {
	s.Helper()
	s.reconcile()
	s.now = s.now.Add(time.Second)
	s.edit(func(object *chaosv1.ChaosPod) { object.Annotations[chaosv1.RunNowAnnotation] = "1" })
}

// says demands a condition.
func (s *suite) expectCondition(kind, reason string) {
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
