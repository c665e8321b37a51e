// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterrebootpolicy

import (
	"context"
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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
)

// suite is a reconciler whose API server is in memory. What a real one makes of the writes is for the integration tests.
type suite struct {
	testing.TB
	*Reconciler
	store  client.WithWatch
	now    time.Time
	events []string
	writes []string
	// write is called before each write of a policy; its error is that of the write.
	write func(p *autorebootv1.RebootPolicy) error
	// changes is called before each write of the status, as another writer may be.
	changes func()
}

const onChange = `{namespaceSelector: {matchLabels: {restarts: "yes"}}, template: {spec: {targets: [{selector: {}, optIn: Annotation}], triggers: [{name: config, type: ConfigChange}]}}}`

func newSuite(t testing.TB, namespaces int) *suite {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{argorollouts.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, autorebootv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	of := &autorebootv1.ClusterRebootPolicy{ObjectMeta: metav1.ObjectMeta{Name: "on-change", UID: "uid", Generation: 1}}
	if err := yaml.UnmarshalStrict([]byte(onChange), &of.Spec); err != nil {
		t.Fatal(err)
	}
	approve(of)
	objects := []client.Object{of}
	for i := range namespaces {
		objects = append(objects, namespace(i), workload(i))
	}
	s := &suite{TB: t, now: time.Date(2026, 3, 2, 14, 0, 0, 0, time.UTC), write: func(*autorebootv1.RebootPolicy) error { return nil }, changes: func() {}}
	s.store = fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().WithObjects(objects...).WithStatusSubresource(of).Build()
	written := func(verb string, o client.Object, write func() error) error {
		p, is := o.(*autorebootv1.RebootPolicy)
		if !is {
			return write()
		}
		if err := s.write(p); err != nil {
			return err
		}
		err := write()
		if err == nil {
			s.writes = append(s.writes, verb+" "+p.Namespace)
		}
		return err
	}
	s.Reconciler = &Reconciler{
		Client: interceptor.NewClient(s.store, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				return written("create", o, func() error { return c.Create(ctx, o, opts...) })
			},
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				return written("update", o, func() error { return c.Update(ctx, o, opts...) })
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				return written("delete", o, func() error { return c.Delete(ctx, o, opts...) })
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, part string, o client.Object, opts ...client.SubResourceUpdateOption) error {
				s.changes()
				return c.SubResource(part).Update(ctx, o, opts...)
			},
		}),
		Live: s.store, Events: (*fakeEvents)(s), Now: func() time.Time { return s.now }, WebhookExemptNamespaces: []string{"kube-system"},
		enqueuer: controller.NewCoalescingEnqueuer(time.Now), refused: map[string]*refusals{},
	}
	return s
}

func approve(of *autorebootv1.ClusterRebootPolicy) {
	of.Annotations = map[string]string{common.ApprovedByAnnotation: approval.Value("ann", approval.ClusterRebootPolicyDigest(of))}
}

func nameOf(i int) string { return fmt.Sprintf("shop-%03d", i) }

func namespace(i int) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: nameOf(i), Labels: map[string]string{"restarts": "yes"}}}
}

func workload(i int) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: nameOf(i), Name: "web", Annotations: map[string]string{common.RestartOnChangeAnnotation: "true"}}}
}

type fakeEvents suite

func (f *fakeEvents) Eventf(_, _ runtime.Object, _, reason, _, note string, args ...any) {
	f.events = append(f.events, reason+": "+fmt.Sprintf(note, args...))
}

func (f *fakeEvents) AnnotatedEventf(regarding, related runtime.Object, _ map[string]string, kind, reason, action, note string, args ...any) {
	f.Eventf(regarding, related, kind, reason, action, note, args...)
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// reconcile runs the reconciler once, and returns what it has written and when it wants to run again.
func (s *suite) reconcile() (writes []string, after time.Duration) {
	s.Helper()
	s.writes = nil
	result, err := s.Reconcile(s.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "on-change"}})
	s.must(err)
	return s.writes, result.RequeueAfter
}

func (s *suite) expectWrites(what string, want ...string) {
	s.Helper()
	if got, _ := s.reconcile(); !slices.Equal(got, want) {
		s.Errorf("%s: wrote %q, want %q", what, got, want)
	}
}

func (s *suite) object() *autorebootv1.ClusterRebootPolicy {
	s.Helper()
	var of autorebootv1.ClusterRebootPolicy
	s.must(s.store.Get(s.Context(), client.ObjectKey{Name: "on-change"}, &of))
	return &of
}

func (s *suite) edit(change func(*autorebootv1.ClusterRebootPolicy)) {
	s.Helper()
	of := s.object()
	change(of)
	of.Generation++
	s.must(s.store.Update(s.Context(), of))
}

func (s *suite) expectReady(status metav1.ConditionStatus, reason string, policies, refused int32) {
	s.Helper()
	of := s.object()
	c := meta.FindStatusCondition(of.Status.Conditions, autorebootv1.ConditionReady)
	if c == nil || c.Status != status || c.Reason != reason || *of.Status.Policies != policies || *of.Status.RefusedNamespaces != refused {
		s.Errorf("the status is %+v, want %s %s with %d policies, %d refused", of.Status, status, reason, policies, refused)
	}
}

func TestPoliciesAreWrittenInPartsAndOnlyWhereSomethingDiffers(t *testing.T) {
	s := newSuite(t, 230)
	for i, want := range []int{100, 100, 30, 0} {
		writes, after := s.reconcile()
		if len(writes) != want || (after > 0) != (i < 2) {
			t.Errorf("reconcile %d wrote %d, and runs again after %s; want %d", i, len(writes), after, want)
		}
	}
	s.expectReady(metav1.ConditionTrue, autorebootv1.ClusterReasonInStep, 230, 0)

	outside := namespace(7)
	outside.Labels = nil
	s.must(s.store.Update(t.Context(), outside))
	s.must(s.store.Delete(t.Context(), workload(8)))
	s.must(s.store.Delete(t.Context(), namespace(9)))
	s.expectWrites("a namespace leaves, one loses its workload, one is gone", "delete shop-007", "delete shop-008", "delete shop-009")
	s.expectReady(metav1.ConditionTrue, autorebootv1.ClusterReasonInStep, 227, 0)

	s.edit(func(of *autorebootv1.ClusterRebootPolicy) {
		of.Spec.NamespaceSelector = &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"restarts": "never"}}
	})
	for range 3 {
		s.reconcile()
	}
	s.expectReady(metav1.ConditionTrue, autorebootv1.ClusterReasonInStep, 0, 0)
}

func TestWhatIsNotApprovedOrValidLeavesPoliciesAsTheyAre(t *testing.T) {
	s := newSuite(t, 2)
	s.reconcile()
	spec := s.object().Spec
	s.edit(func(of *autorebootv1.ClusterRebootPolicy) {
		of.Spec.Template.Spec.Compatibility = autorebootv1.CompatibilityWave
	})
	s.expectWrites("another template without an approval")
	s.expectReady(metav1.ConditionFalse, autorebootv1.ReasonForbidden, 2, 0)
	s.edit(func(of *autorebootv1.ClusterRebootPolicy) {
		of.Spec.Template.Spec.ServiceAccountName = "Not A Name"
		approve(of)
	})
	s.expectWrites("an invalid template")
	s.expectReady(metav1.ConditionFalse, common.ReasonInvalidSpec, 2, 0)
	if !meta.IsStatusConditionTrue(s.object().Status.Conditions, autorebootv1.ConditionStalled) {
		t.Error("it is not stalled")
	}
	// A CRD that calls a field otherwise prunes it, and what is stored reads as if there were none.
	for name, change := range map[string]func(*autorebootv1.ClusterRebootPolicySpec){
		"no selector": func(s *autorebootv1.ClusterRebootPolicySpec) { s.NamespaceSelector = nil },
		"no targets":  func(s *autorebootv1.ClusterRebootPolicySpec) { s.Template.Spec.Targets = nil },
		"nothing":     func(s *autorebootv1.ClusterRebootPolicySpec) { *s = autorebootv1.ClusterRebootPolicySpec{} },
	} {
		s.edit(func(of *autorebootv1.ClusterRebootPolicy) {
			of.Spec = *spec.DeepCopy()
			change(&of.Spec)
			approve(of)
		})
		s.expectWrites(name)
		s.expectReady(metav1.ConditionFalse, common.ReasonInvalidSpec, 2, 0)
	}
	s.edit(func(of *autorebootv1.ClusterRebootPolicy) { of.Spec = spec; approve(of) })
	s.expectWrites("the previous template")
	s.expectReady(metav1.ConditionTrue, autorebootv1.ClusterReasonInStep, 2, 0)
}

func TestAnObjectThatChangesMeanwhileIsReconciledAgainWithoutAnError(t *testing.T) {
	s := newSuite(t, 1)
	s.changes = func() {
		s.edit(func(of *autorebootv1.ClusterRebootPolicy) { of.Labels = map[string]string{"by": "another writer"} })
	}
	if _, after := s.reconcile(); after != controller.StaleRetry {
		t.Errorf("again after %s", after)
	}
	s.changes = func() {}
	s.reconcile()
	s.expectReady(metav1.ConditionTrue, autorebootv1.ClusterReasonInStep, 1, 0)
}

// What is refused is tried again after a while, and not at each event of the cluster.
func TestARefusalInOneNamespaceIsNotRepeatedAtEachEvent(t *testing.T) {
	for name, refuse := range map[string]func(p *autorebootv1.RebootPolicy) error{
		"a quota": func(*autorebootv1.RebootPolicy) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "rebootpolicies"}, "on-change", fmt.Errorf("exceeded quota"))
		},
		"another webhook": func(p *autorebootv1.RebootPolicy) error {
			p.Spec.Cooldown = nil
			p.Spec.Targets[0].Kind = "Deployment"
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, 2)
			attempts := 0
			s.write = func(p *autorebootv1.RebootPolicy) error {
				if p.Namespace != nameOf(1) {
					return nil
				}
				attempts++
				return refuse(p)
			}
			for range 5 {
				if _, after := s.reconcile(); after <= 0 || after > retryRefused {
					t.Errorf("it is tried again after %s", after)
				}
			}
			s.expectReady(metav1.ConditionFalse, autorebootv1.ReasonWriteRefused, 1, 1)
			if attempts != 1 {
				t.Errorf("%d writes, want 1", attempts)
			}
			s.now = s.now.Add(retryRefused)
			s.reconcile()
			if attempts != 2 {
				t.Errorf("%d writes after a minute, want 2", attempts)
			}
			for range 30 { // two hours
				s.now = s.now.Add(4 * time.Minute)
				if _, after := s.reconcile(); after <= 0 || after > lastRetryRefused {
					t.Errorf("it is tried again after %s", after)
				}
			}
			if attempts < 9 || attempts > 12 { // after 2, 4, 8 and each 16 minutes
				t.Errorf("%d writes in two hours", attempts)
			}
			s.write = func(*autorebootv1.RebootPolicy) error { return nil }
			s.now = s.now.Add(lastRetryRefused)
			s.reconcile()
			s.expectReady(metav1.ConditionTrue, autorebootv1.ClusterReasonInStep, 2, 0)
		})
	}
}

func TestAPolicyOfTheSameNameIsLeftAsItIs(t *testing.T) {
	s := newSuite(t, 1)
	own := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: nameOf(0), Name: "on-change"}}
	s.must(s.store.Create(t.Context(), own))
	s.expectWrites("a user has a policy of that name")
	s.expectReady(metav1.ConditionFalse, autorebootv1.ClusterReasonNameTaken, 0, 1)
	s.must(s.store.Delete(t.Context(), own))
	s.now = s.now.Add(retryRefused)
	s.expectWrites("it is gone", "create shop-000")
}

// A backup has no UIDs, so that the owner of a policy that is restored is not there, or is named by the UID of a former one.
func TestAPolicyThatIsRestoredBelongsToTheObjectOfItsName(t *testing.T) {
	controlledBy := func(kind, name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: autorebootv1.GroupVersion.String(), Kind: kind, Name: name, UID: "former", Controller: ptr.To(true)}}
	}
	for name, test := range map[string]struct {
		owners []metav1.OwnerReference
		change func(p *autorebootv1.RebootPolicy)
		taken  bool
	}{
		"without an owner": {taken: true},
		"with a former owner, and one that does not control it": {
			owners: append(controlledBy("ClusterRebootPolicy", "on-change"), metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "b"}), taken: true},
		"with another template":     {change: func(p *autorebootv1.RebootPolicy) { p.Spec.Suspend = ptr.To(true) }, taken: true},
		"of another object":         {owners: controlledBy("ClusterRebootPolicy", "other")},
		"of another kind":           {owners: controlledBy("Application", "on-change")},
		"without a digest":          {change: func(p *autorebootv1.RebootPolicy) { p.Annotations = nil }},
		"of a user, without labels": {change: func(p *autorebootv1.RebootPolicy) { p.Annotations, p.Labels = nil, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, 1)
			restored := newPolicy(s.object(), nameOf(0))
			restored.OwnerReferences = test.owners
			if test.change != nil {
				test.change(restored)
			}
			s.must(s.store.Create(t.Context(), restored))
			if !test.taken {
				s.expectWrites("it is left as it is")
				s.expectReady(metav1.ConditionFalse, autorebootv1.ClusterReasonNameTaken, 0, 1)
				return
			}
			s.expectWrites("it is taken", "update shop-000")
			s.expectWrites("it is in step")
			s.expectReady(metav1.ConditionTrue, autorebootv1.ClusterReasonInStep, 1, 0)
			var taken autorebootv1.RebootPolicy
			s.must(s.store.Get(t.Context(), client.ObjectKeyFromObject(restored), &taken))
			if !metav1.IsControlledBy(&taken, s.object()) || len(taken.OwnerReferences) != max(1, len(test.owners)) || taken.Spec.Suspend != nil {
				t.Errorf("it is %+v", taken)
			}
			if slices.ContainsFunc(s.events, func(e string) bool { return strings.HasPrefix(e, "Reverted") }) {
				t.Errorf("events %q, want none of a change by hand", s.events)
			}
		})
	}
}

// A user who may write RebootPolicies and restart nothing could have set it beside a spec that needs no right.
func TestAnAnnotationOfAnotherSpecDoesNotCountForTheTemplate(t *testing.T) {
	for name, adopted := range map[string]bool{"reverted": false, "adopted": true} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, 1)
			policy := newPolicy(s.object(), nameOf(0))
			if adopted {
				policy.OwnerReferences = nil
				s.must(s.store.Create(t.Context(), policy))
			} else {
				s.reconcile()
				s.must(s.store.Get(t.Context(), client.ObjectKeyFromObject(policy), policy))
			}
			policy.Annotations[autorebootv1.OnInjectedFaultAnnotation] = autorebootv1.OnInjectedFaultRestart
			policy.Spec.Targets = []autorebootv1.Target{{Kind: "Deployment", Name: "mine"}}
			s.must(s.store.Update(t.Context(), policy))
			s.expectWrites("it differs from the template", "update shop-000")
			s.must(s.store.Get(t.Context(), client.ObjectKeyFromObject(policy), policy))
			if value, has := policy.Annotations[autorebootv1.OnInjectedFaultAnnotation]; has || policy.Spec.Targets[0].Name != "" {
				t.Errorf("the annotation is %q, the targets are %+v", value, policy.Spec.Targets)
			}
			// One that was written beside the template stays.
			policy.Annotations[autorebootv1.OnInjectedFaultAnnotation] = autorebootv1.OnInjectedFaultRestart
			s.must(s.store.Update(t.Context(), policy))
			s.expectWrites("it is in step")
		})
	}
}

func TestAPolicyThatIsRestoredIntoANamespaceThatIsNotSelectedIsDeleted(t *testing.T) {
	s := newSuite(t, 1)
	restored := newPolicy(s.object(), "elsewhere")
	restored.OwnerReferences = nil
	s.must(s.store.Create(t.Context(), restored))
	s.expectWrites("it is not selected", "delete elsewhere", "create shop-000")
}

func TestALabelThatIsTakenOffAPolicyIsPutBack(t *testing.T) {
	s := newSuite(t, 1)
	s.reconcile()
	var made autorebootv1.RebootPolicy
	s.must(s.store.Get(t.Context(), client.ObjectKey{Namespace: nameOf(0), Name: "on-change"}, &made))
	made.Labels = nil
	made.Spec.Targets[0].OptIn = nil
	s.must(s.store.Update(t.Context(), &made))
	for range 3 {
		s.reconcile()
	}
	s.expectReady(metav1.ConditionTrue, autorebootv1.ClusterReasonInStep, 1, 0)
	s.must(s.store.Get(t.Context(), client.ObjectKeyFromObject(&made), &made))
	if made.Labels[autorebootv1.ClusterPolicyLabel] != "on-change" || made.Spec.Targets[0].OptIn == nil ||
		!slices.ContainsFunc(s.events, func(e string) bool { return strings.HasPrefix(e, "Reverted") }) {
		t.Errorf("it is %+v; events %q", made, s.events)
	}
}

// A controller that edits a policy again and again is reverted ever more seldom, with an Event each time, and is named.
func TestAWriterThatChangesAPolicyAgainAndAgainIsRevertedEverMoreSeldom(t *testing.T) {
	s := newSuite(t, 2)
	s.reconcile()
	key := client.ObjectKey{Namespace: nameOf(0), Name: "on-change"}
	edit := func() {
		var made autorebootv1.RebootPolicy
		s.must(s.store.Get(t.Context(), key, &made))
		made.Spec.Suspend = ptr.To(true)
		s.must(s.store.Update(t.Context(), &made, client.FieldOwner("eager")))
	}
	reverts, statuses := 0, map[string]bool{}
	began := s.now
	for s.now.Before(began.Add(10 * time.Minute)) { // edits four times a second
		edit()
		writes, after := s.reconcile()
		reverts += len(writes)
		if after > lastRevertWait || after < 0 {
			t.Fatalf("it runs again after %s", after)
		}
		if s.now.After(began.Add(time.Second)) {
			statuses[s.object().ResourceVersion] = true
		}
		s.now = s.now.Add(250 * time.Millisecond)
	}
	// At 0, 1, 3, 7, 15, 31 and 63 seconds, and then once a minute.
	told := slices.DeleteFunc(slices.Clone(s.events), func(e string) bool { return !strings.HasPrefix(e, "Reverted: ") })
	if reverts != 15 || len(told) != reverts || len(s.events) > len(told)+3 {
		t.Errorf("%d reverts in ten minutes, with %d events: %q", reverts, len(s.events), s.events)
	}
	if len(statuses) > 2 {
		t.Errorf("the status changes with each revert: %d times", len(statuses))
	}
	s.expectReady(metav1.ConditionFalse, autorebootv1.ClusterReasonChangedRepeatedly, 1, 1)
	if r := s.object().Status.Refusals[0]; r.Namespace != nameOf(0) || !strings.Contains(r.Message, `field manager "eager" keeps changing the policy`) {
		t.Errorf("the refusal is %+v", r)
	}

	// Once it has stopped, the last edit is reverted, and the namespace is in step.
	for range 3 {
		s.now = s.now.Add(lastRevertWait)
		s.reconcile()
	}
	s.expectReady(metav1.ConditionTrue, autorebootv1.ClusterReasonInStep, 2, 0)
	s.now = s.now.Add(lastRevertWait + time.Second)
	s.reconcile()
	if n := len(s.refused["on-change"].reversals); n != 0 {
		t.Errorf("%d reversals are remembered", n)
	}
	edit()
	s.expectWrites("an edit long after that", "update shop-000")

	// Another template is written at once, whatever has been.
	edit()
	s.edit(func(of *autorebootv1.ClusterRebootPolicy) {
		of.Spec.Template.Spec.Compatibility = autorebootv1.CompatibilityWave
		approve(of)
	})
	s.expectWrites("another template", "update shop-000", "update shop-001")
}

// A namespace that is being deleted takes no new object, and what the API server refuses there meanwhile is forgotten with it.
func TestNothingIsMadeInANamespaceThatIsBeingDeleted(t *testing.T) {
	s := newSuite(t, 2)
	ending := namespace(0)
	ending.Finalizers = []string{"example.com/hold"}
	s.must(s.store.Update(t.Context(), ending))
	s.write = func(p *autorebootv1.RebootPolicy) error {
		if p.Namespace == ending.Name { // the cache is behind
			return apierrors.NewForbidden(schema.GroupResource{Resource: "rebootpolicies"}, "on-change", fmt.Errorf("it is being terminated"))
		}
		return nil
	}
	s.expectWrites("the other namespace alone", "create shop-001")
	s.expectReady(metav1.ConditionFalse, autorebootv1.ReasonWriteRefused, 1, 1)
	s.must(s.store.Delete(t.Context(), ending))
	s.expectWrites("the cache has caught up")
	s.expectReady(metav1.ConditionTrue, autorebootv1.ClusterReasonInStep, 1, 0)
	if n := len(s.refused["on-change"].byNamespace); n != 0 {
		t.Errorf("%d refusals are remembered", n)
	}
}

// A policy that a finalizer keeps from being deleted restarts nothing: Ready comes from the counts.
func TestAPolicyThatIsBeingDeletedIsNotInStep(t *testing.T) {
	s := newSuite(t, 3)
	s.reconcile()
	kept := &autorebootv1.RebootPolicy{}
	s.must(s.store.Get(t.Context(), client.ObjectKey{Namespace: nameOf(1), Name: "on-change"}, kept))
	kept.Finalizers = []string{"example.com/backup"}
	s.must(s.store.Update(t.Context(), kept))
	s.must(s.store.Delete(t.Context(), kept))
	s.expectWrites("a policy that is being deleted")
	s.expectReady(metav1.ConditionFalse, autorebootv1.ClusterReasonNotInStep, 2, 0)
	c := meta.FindStatusCondition(s.object().Status.Conditions, autorebootv1.ConditionReady)
	if !strings.Contains(c.Message, "it is being deleted in 1, such as in shop-001. It is kept by the finalizers example.com/backup") {
		t.Errorf("the message is %q", c.Message)
	}
	s.must(s.store.Get(t.Context(), client.ObjectKeyFromObject(kept), kept))
	kept.Finalizers = nil
	s.must(s.store.Update(t.Context(), kept))
	s.expectWrites("once it is gone", "create shop-001")
	s.expectReady(metav1.ConditionTrue, autorebootv1.ClusterReasonInStep, 3, 0)

	s.edit(func(of *autorebootv1.ClusterRebootPolicy) { of.Finalizers = []string{"example.com/backup"} })
	s.must(s.store.Delete(t.Context(), s.object()))
	s.expectWrites("the object itself is being deleted")
	s.expectReady(metav1.ConditionFalse, autorebootv1.ReasonDeleting, 3, 0)
}
