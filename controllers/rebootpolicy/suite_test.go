// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	"github.com/fairlead-dev/fairlead/controllers/internal/clientprobe"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/podprobe"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
	"github.com/fairlead-dev/fairlead/internal/disruption"
)

// suite is a reconciler with everything around it in memory, except for the decision, which is the real
// one. What a real API server does with the writes is for the integration tests.
type suite struct {
	testing.TB
	*Reconciler
	store   client.WithWatch
	ledger  *disruption.Ledger
	content *fakeSources
	checks  *fakeProbes
	sender  *fakeRequests
	doer    *fakeActor
	// stale is the policy as a stale cache returns it.
	stale *autorebootv1.RebootPolicy
	// refusing is the error of the next writes of a status.
	refusing error
	writes   int
	events   []string
	all      []string // events since the beginning
	now      time.Time
}

var (
	epoch     = time.Date(2026, time.March, 2, 14, 0, 0, 0, time.UTC)
	policyKey = types.NamespacedName{Namespace: "shop", Name: "payments"}
)

const config = `
targets: [{kind: Deployment, name: api}]
triggers: [{name: config, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: creds}]}}]
debounce: {quietPeriod: 15s}
verification: {soak: 10s}
`

func newSuite(t testing.TB, spec string, objects ...client.Object) *suite {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{argorollouts.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, networkingv1.AddToScheme, chaosv1.AddToScheme, autorebootv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &suite{TB: t, now: epoch, ledger: disruption.New(disruption.Options{})}
	s.store = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&autorebootv1.RebootPolicy{}, &networkingv1.ExternalService{}).
		WithIndex(&corev1.Pod{}, workloads.ByOwner, workloads.OwnerOf).
		WithIndex(workloads.ReplicaSets(), workloads.ByOwner, workloads.OwnerOf).Build()
	s.content = &fakeSources{states: map[string]sources.State{"Secret/creds": {Fingerprint: "hmac:1", Written: epoch.Add(-time.Hour)}}}
	s.checks, s.sender = &fakeProbes{verdicts: map[types.UID]podprobe.Result{}}, &fakeRequests{}
	s.doer = &fakeActor{suite: s}
	policy := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{
		Namespace: policyKey.Namespace, Name: policyKey.Name, UID: "abcdef0123456789", Generation: 1,
		CreationTimestamp: metav1.NewTime(epoch.Add(-time.Hour)),
	}}
	if err := yaml.UnmarshalStrict([]byte(spec), &policy.Spec); err != nil {
		t.Fatal(err)
	}
	approve(policy)
	s.must(s.store.Create(t.Context(), policy))
	s.restart()
	return s
}

// restart is another process: it has forgotten everything that is not in the API server.
func (s *suite) restart() {
	s.ledger = disruption.New(disruption.Options{})
	s.Reconciler = newReconciler(Reconciler{
		Client: interceptor.NewClient(s.store, interceptor.Funcs{Get: s.cached, SubResourceUpdate: s.updates}),
		Live:   s.store, Events: (*fakeEvents)(s), Now: func() time.Time { return s.now },
		Sources: s.content, Probes: s.checks, Requests: s.sender, Ledger: s.ledger, Key: fakeKey{}, Actor: s.doer,
	})
	s.must(Restore(s.Context(), s.store, s.ledger))
}

// cached is the cache, which may be behind.
func (s *suite) cached(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if policy, ok := into.(*autorebootv1.RebootPolicy); ok && s.stale != nil {
		s.stale.DeepCopyInto(policy)
		return nil
	}
	return c.Get(ctx, key, into, opts...)
}

func (s *suite) updates(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
	if s.refusing != nil {
		return s.refusing
	}
	s.writes++
	return c.SubResource(sub).Update(ctx, o, opts...)
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// reconcile runs the reconciler once.
func (s *suite) reconcile() reconcile.Result {
	s.Helper()
	result, err := s.Reconcile(s.Context(), reconcile.Request{NamespacedName: policyKey})
	s.must(err)
	var policy autorebootv1.RebootPolicy
	if s.must(client.IgnoreNotFound(s.store.Get(s.Context(), policyKey, &policy))); len(policy.Status.Conditions) > 0 {
		for _, kind := range []string{autorebootv1.ConditionReady, autorebootv1.ConditionWaiting, autorebootv1.ConditionProgressing,
			autorebootv1.ConditionVerified, autorebootv1.ConditionDisruptionBudgetBlocks, autorebootv1.ConditionSuspended} {
			if meta.FindStatusCondition(policy.Status.Conditions, kind) == nil {
				s.Errorf("%s is absent: %+v", kind, policy.Status.Conditions)
			}
		}
	}
	return result
}

// expectNoWrite demands that nothing is written, told or done.
func (s *suite) expectNoWrite(why string) reconcile.Result {
	s.Helper()
	s.writes, s.events = 0, nil
	done := len(s.doer.done)
	result := s.reconcile()
	if s.writes > 0 || len(s.events) > 0 || len(s.doer.done) > done {
		s.Errorf("%s: wrote %d times, told %q, did %q", why, s.writes, s.events, s.doer.done[done:])
	}
	return result
}

func approve(policy *autorebootv1.RebootPolicy) {
	if policy.Annotations == nil {
		policy.Annotations = map[string]string{}
	}
	policy.Annotations[common.ApprovedByAnnotation] = approval.Value("ann", approval.RebootPolicyDigest(&policy.Spec))
}

func (s *suite) object() *autorebootv1.RebootPolicy {
	s.Helper()
	var policy autorebootv1.RebootPolicy
	s.must(s.store.Get(s.Context(), policyKey, &policy))
	return &policy
}

// edit changes the policy, as the API server would let a user who is entitled to what it does.
func (s *suite) edit(change func(*autorebootv1.RebootPolicy)) {
	s.Helper()
	s.editUnapproved(func(policy *autorebootv1.RebootPolicy) {
		change(policy)
		approve(policy)
	})
}

// editUnapproved changes the policy past admission.
func (s *suite) editUnapproved(change func(*autorebootv1.RebootPolicy)) {
	s.Helper()
	policy := s.object()
	change(policy)
	policy.Generation++
	s.must(s.store.Update(s.Context(), policy))
}

// expectCondition demands a condition, as "True Reason", or "" for none.
func (s *suite) expectCondition(kind, want string) {
	s.Helper()
	got, message := "", ""
	if c := meta.FindStatusCondition(s.object().Status.Conditions, kind); c != nil {
		got, message = fmt.Sprintf("%s %s", c.Status, c.Reason), c.Message
	}
	if got != want {
		s.Errorf("%s is %q (%s), want %q", kind, got, message, want)
	}
}

// expectActions demands these actions, and no others since the last call.
func (s *suite) expectActions(want ...string) {
	s.Helper()
	if !slices.Equal(s.doer.done, want) {
		s.Errorf("did %q, want %q", s.doer.done, want)
	}
	s.doer.done = nil
}

func (s *suite) advance(d time.Duration) { s.now = s.now.Add(d) }

// changeSource gives a source other content.
func (s *suite) changeSource(source, fingerprint string) {
	s.content.states[source] = sources.State{Fingerprint: fingerprint, Written: s.now}
}

// deployment is one that has rolled out, with its ReplicaSet and pods.
func deployment(name string, replicas int, set map[string]string) []client.Object {
	uid := types.UID("uid-" + name)
	objects := []client.Object{
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: uid, Generation: 1, Labels: set},
			Spec:       appsv1.DeploymentSpec{Replicas: ptr.To(int32(replicas)), Selector: &metav1.LabelSelector{}},
			Status: appsv1.DeploymentStatus{
				ObservedGeneration: 1, Replicas: int32(replicas), UpdatedReplicas: int32(replicas), AvailableReplicas: int32(replicas),
			},
		},
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name + "-1", UID: "rs-" + uid, OwnerReferences: owned("Deployment", name, uid),
		}},
	}
	for i := range replicas {
		objects = append(objects, pod(fmt.Sprintf("%s-1-%d", name, i), owned("ReplicaSet", name+"-1", "rs-"+uid)))
	}
	return objects
}

func owned(kind, name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: uid, Controller: ptr.To(true)}}
}

func pod(name string, by []metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-" + name), OwnerReferences: by,
			CreationTimestamp: metav1.NewTime(epoch.Add(-2 * time.Hour)),
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

type fakeEvents suite

func (f *fakeEvents) Eventf(regarding, related runtime.Object, _, reason, _, note string, args ...any) {
	text := fmt.Sprintf("%s %s/%s: ", reason, kindOf(regarding), kindOf(related)) + fmt.Sprintf(note, args...)
	f.events, f.all = append(f.events, text), append(f.all, text)
}

func (f *fakeEvents) AnnotatedEventf(regarding, related runtime.Object, _ map[string]string, kind, reason, action, note string, args ...any) {
	f.Eventf(regarding, related, kind, reason, action, note, args...)
}

func kindOf(object runtime.Object) string {
	switch o := object.(type) {
	case nil:
		return "-"
	case *corev1.ObjectReference:
		return o.Kind
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1.")
}

// fakeSources hold what a test says, by kind and name.
type fakeSources struct {
	states   map[string]sources.State
	selected map[string][]string
	err      error // of Select
	unread   error // of Observe
	wants    []sources.Want
}

func (f *fakeSources) Select(_ context.Context, by types.NamespacedName, kind autorebootv1.SourceKind, selector labels.Selector, _ int) ([]sources.Ref, error) {
	var refs []sources.Ref
	for _, name := range f.selected[selector.String()] {
		refs = append(refs, sources.Ref{Kind: kind, Namespace: by.Namespace, Name: name})
	}
	return refs, f.err
}

func (f *fakeSources) Observe(_ context.Context, _ types.NamespacedName, wants []sources.Want) ([]sources.State, error) {
	f.wants = wants
	states := make([]sources.State, 0, len(wants))
	for i := range wants {
		state, ok := f.states[nameOf(&wants[i])]
		if !ok {
			state.Missing = true
		}
		states = append(states, state)
	}
	return states, f.unread
}

func (f *fakeSources) Forget(types.NamespacedName) { f.wants = nil }

// fakeProbes has the results that a test sets.
type fakeProbes struct {
	verdicts map[types.UID]podprobe.Result
	suspect  bool
	wants    []podprobe.Want
}

// fakeRequests has the requests that a test sets.
type fakeRequests struct {
	// wants and restarts are what was set last, and counted what is counted for each restart.
	wants    []clientprobe.Want
	restarts []clientprobe.Disruption
	counted  []requestcount.Requests
}

func (f *fakeProbes) Set(_ types.NamespacedName, wants []podprobe.Want) { f.wants = wants }
func (f *fakeProbes) Result(_ types.NamespacedName, _ string, workload types.UID) podprobe.Result {
	return f.verdicts[workload]
}
func (f *fakeProbes) IsSuspect(types.NamespacedName) bool { return f.suspect }
func (f *fakeProbes) Forget(types.NamespacedName)         { f.wants = nil }

func (f *fakeRequests) Set(_ types.NamespacedName, wants []clientprobe.Want, restarts []clientprobe.Disruption) {
	if f.wants, f.restarts = wants, restarts; len(restarts) == 0 {
		f.wants = nil
	}
}

func (f *fakeRequests) Requests(types.NamespacedName, string) []requestcount.Requests {
	return f.counted
}

// fakeActor annotates workloads, and fails the test where the restart is not in the stored status.
type fakeActor struct {
	*suite
	done    []string
	outcome restart.Outcome
	err     error // of outcome; nil for any
	// dies ends the process after an action, before its result is recorded.
	dies bool
}

var errDied = errors.New("the process ended")

func (a *fakeActor) Do(ctx context.Context, policy *autorebootv1.RebootPolicy, action restart.Action, version string) (restart.Result, error) {
	result := restart.Result{Action: action, Outcome: a.outcome}
	a.done = append(a.done, fmt.Sprintf("%s %s %s", action.Verb, action.Workload.Name, action.ID))
	if !slices.ContainsFunc(a.object().Status.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.ID == action.ID }) {
		a.Errorf("%s is not in the status that is stored", action.ID)
	}
	if a.outcome != "" {
		return result, cmp.Or(a.err, errors.New("refused"))
	}
	var d appsv1.Deployment
	a.must(a.store.Get(ctx, types.NamespacedName{Namespace: policy.Namespace, Name: action.Workload.Name}, &d))
	if d.ResourceVersion != version {
		result.Outcome = restart.Retry
		return result, apierrors.NewConflict(appsv1.Resource("deployments"), d.Name, errors.New("another version"))
	}
	if d.Spec.Template.Annotations[autorebootv1.RestartIDAnnotation] != action.ID {
		d.Spec.Template.Annotations = map[string]string{autorebootv1.RestartIDAnnotation: action.ID}
		d.Generation++
		a.must(a.store.Update(ctx, &d))
	}
	if a.dies {
		a.refusing = errDied
	}
	result.Outcome, result.Generation = restart.Done, d.Generation
	return result, nil
}

// completeRollout completes the rollout of a restarted Deployment: it replaces its pods.
func (s *suite) completeRollout(name string) {
	s.Helper()
	var d appsv1.Deployment
	s.must(s.store.Get(s.Context(), types.NamespacedName{Namespace: "shop", Name: name}, &d))
	d.Status.ObservedGeneration = d.Generation
	s.must(s.store.Status().Update(s.Context(), &d))
	var pods corev1.PodList
	s.must(s.store.List(s.Context(), &pods, client.InNamespace("shop"), client.MatchingFields{workloads.ByOwner: "rs-uid-" + name}))
	for i := range pods.Items {
		old := &pods.Items[i]
		s.must(s.store.Delete(s.Context(), old))
		fresh := pod(old.Name+"n", old.OwnerReferences)
		fresh.CreationTimestamp = metav1.NewTime(s.now)
		s.must(s.store.Create(s.Context(), fresh))
	}
}

type fakeKey struct{}

func (fakeKey) Sum(domain string, parts ...[]byte) string {
	return fmt.Sprintf("hmac:%s%d", domain[:3], len(fmt.Sprintf("%q", parts)))
}

func policyKeyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: policyKey.Namespace, Name: name}
}
