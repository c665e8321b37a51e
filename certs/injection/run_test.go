// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// soon is how long restoring a bundle may take: the least time between two passes, and a little.
const soon = 2 * minInterval

// losses are the reported losses.
type losses struct {
	mu  sync.Mutex
	all []Loss
}

func (l *losses) add(one Loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, one)
}

func (l *losses) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// run runs injectors until the test's bubble ends. The bundle is what they publish until another one is stored.
func run(t *testing.T, bundle []byte, injectors ...*Injector) *atomic.Pointer[[]byte] {
	t.Helper()
	var wanted atomic.Pointer[[]byte]
	wanted.Store(&bundle)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	for _, injector := range injectors {
		if err := injector.Publish(t.Context(), bundle); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := injector.Run(ctx, func() []byte { return *wanted.Load() }); err != nil {
				t.Error(err)
			}
		})
		injector.Trigger()
	}
	pass(time.Hour)
	return &wanted
}

func TestALostBundleIsHealedWithinSecondsAndToldOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle, told := newCluster(standard()...), newBundle(t), &losses{}
		injector := newInjector(t, client, Options{OnLoss: told.add})
		run(t, bundle, injector)
		if told.count() != 0 || injector.Missing() != nil {
			t.Errorf("told %d times of nothing, missing: %v", told.count(), injector.Missing())
		}
		wipe(t, client, "kubectl-patch")
		pass(soon)
		if diff := cmp.Diff(repeated(bundle), bundles(t, client)); diff != "" {
			t.Errorf("bundles (-want +got):\n%s", diff)
		}
		if told.count() != 1 || told.all[0].Name != "foos.x.dev" || !strings.Contains(told.all[0].Message, `"kubectl-patch"`) {
			t.Errorf("told of %+v", told.all)
		}
		if err := injector.Missing(); err != nil {
			t.Errorf("missing: %v", err)
		}
	})
}

func TestABundleOfOthersOverOursIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle := newCluster(standard()...), newBundle(t)
		run(t, bundle, newInjector(t, client, Options{}))
		for _, object := range standard() {
			store(t, client, withBundle(t, object.(*unstructured.Unstructured), newBundle(t), "kubectl-patch"))
		}
		pass(soon)
		if diff := cmp.Diff(repeated(bundle), bundles(t, client)); diff != "" {
			t.Errorf("bundles (-want +got):\n%s", diff)
		}
	})
}

// A replica whose source does not know of ours may write its own bundle alone, such as one of an earlier version. API servers
// refuse our certificate until ours is back.
func TestABundleOfAnotherReplicaThatLacksOursIsReplacedWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle := newCluster(standard()...), newBundle(t)
		injector := newInjector(t, client, Options{Latest: func(context.Context) ([]byte, error) { return nil, nil }})
		run(t, bundle, injector)
		newer := newBundle(t)
		for _, object := range standard() {
			store(t, client, withBundle(t, object.(*unstructured.Unstructured), newer, FieldOwner))
		}
		pass(soon)
		if diff := cmp.Diff(repeated(bundle), bundles(t, client)); diff != "" || injector.Missing() != nil {
			t.Errorf("missing: %v, bundles (-want +got):\n%s", injector.Missing(), diff)
		}
	})
}

// During a rolling update to another source of certificates, a new replica trusts the previous root beside its own. A replica
// of the previous source takes its own bundle for the latest, and must not take that trust away.
func TestAWatchTakesNoTrustAwayThatAnotherReplicaHasAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle := newCluster(standard()...), newBundle(t)
		run(t, bundle, newInjector(t, client, Options{Latest: func(context.Context) ([]byte, error) { return bundle, nil }}))
		both := slices.Concat(newBundle(t), bundle)
		for _, object := range standard() {
			store(t, client, withBundle(t, object.(*unstructured.Unstructured), both, FieldOwner))
		}
		pass(time.Minute)
		if diff := cmp.Diff(repeated(both), bundles(t, client)); diff != "" {
			t.Errorf("bundles (-want +got):\n%s", diff)
		}
	})
}

// Such an update may take longer than the interval. API servers would refuse the certificate of the new replica until it
// has written again.
func TestTheIntervalTakesNoTrustAwayEither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle := newCluster(standard()...), newBundle(t)
		injector := newInjector(t, client, Options{Latest: func(context.Context) ([]byte, error) { return bundle, nil }})
		run(t, bundle, injector)
		both := slices.Concat(newBundle(t), bundle)
		for _, object := range standard() {
			store(t, client, withBundle(t, object.(*unstructured.Unstructured), both, FieldOwner))
		}
		pass(3 * time.Hour)
		if diff := cmp.Diff(repeated(both), bundles(t, client)); diff != "" {
			t.Errorf("bundles (-want +got):\n%s", diff)
		}
		injector.Trigger() // the bundle has changed
		pass(time.Second)
		if diff := cmp.Diff(repeated(bundle), bundles(t, client)); diff != "" {
			t.Errorf("bundles (-want +got):\n%s", diff)
		}
	})
}

// The writes of the other targets are events of a watch, by which an own bundle is not replaced. They must not end the
// retries of the target whose write has failed.
func TestAWriteThatFailedIsRetriedAlthoughAWatchSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects, bundle := standard(), newBundle(t)
		for _, object := range objects {
			withBundle(t, object.(*unstructured.Unstructured), bundle, FieldOwner)
		}
		client := newCluster(objects...)
		injector := newInjector(t, client, Options{})
		wanted := run(t, bundle, injector)
		failing := true
		client.PrependReactor("patch", crdKind.resource.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			failed := failing
			failing = false
			return failed, nil, context.DeadlineExceeded
		})
		both := slices.Concat(bundle, newBundle(t))
		wanted.Store(&both)
		injector.Trigger()
		pass(10 * time.Second)
		if diff := cmp.Diff(repeated(both), bundles(t, client)); diff != "" || failing {
			t.Errorf("bundles (-want +got):\n%s", diff)
		}
	})
}

func TestATargetThatWasDeletedIsMissedAndHealedWhenItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle, told := newCluster(standard()...), newBundle(t), &losses{}
		injector := newInjector(t, client, Options{OnLoss: told.add})
		run(t, bundle, injector)
		for n, object := range standard() {
			kind := targetOf(t, object.(*unstructured.Unstructured)).kind
			name := object.(*unstructured.Unstructured).GetName()
			if err := client.Tracker().Delete(kind.resource, "", name); err != nil {
				t.Fatal(err)
			}
			pass(10 * time.Minute)
			if err := injector.Missing(); err == nil || !strings.Contains(err.Error(), name) || told.count() != n+1 {
				t.Errorf("missing: %v, told %d times", err, told.count())
			}
			if _, err := client.Resource(kind.resource).Create(t.Context(), object.(*unstructured.Unstructured), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			pass(soon)
			if err := injector.Missing(); err != nil {
				t.Errorf("missing: %v", err)
			}
		}
		if diff := cmp.Diff(repeated(bundle), bundles(t, client)); diff != "" {
			t.Errorf("bundles (-want +got):\n%s", diff)
		}
	})
}

// API servers would refuse the certificate that is served at the other Service.
func TestATargetThatCallsAnotherServiceIsNeverWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := standard()
		client, bundle, told := newCluster(objects...), newBundle(t), &losses{}
		injector := newInjector(t, client, Options{OnLoss: told.add, Service: types.NamespacedName{Namespace: "second", Name: "fairlead-webhook"}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if err := injector.Publish(ctx, bundle); err == nil || !strings.Contains(err.Error(), "another installation") {
			t.Errorf("published: %v", err)
		}
		go func() { _ = injector.Run(ctx, func() []byte { return bundle }) }()
		injector.Trigger()
		pass(time.Hour)
		if n := patches(client); n != 0 {
			t.Errorf("%d patches", n)
		}
		if err := injector.Missing(); err == nil || strings.Count(err.Error(), "belongs to another installation") != len(objects) {
			t.Errorf("missing: %v", err)
		}
		if err := injector.Observed(ctx, bundle); err != nil {
			t.Errorf("a rotation waits for the targets of others: %v", err)
		}
		mine := newWebhooks(mutatingKind, "fairlead-foo", "a.x.dev", "b.x.dev")
		for _, webhook := range mine.Object["webhooks"].([]any) {
			webhook.(map[string]any)["clientConfig"].(map[string]any)["service"].(map[string]any)["namespace"] = "second"
		}
		store(t, client, mine)
		pass(soon)
		if got := bundles(t, client); !slices.Contains(got, string(bundle)) {
			t.Errorf("what is our own now has no bundle: %q", got)
		}
	})
}

func TestADefinitionThatNoLongerConvertsIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle, told := newCluster(standard()...), newBundle(t), &losses{}
		injector := newInjector(t, client, Options{OnLoss: told.add})
		run(t, bundle, injector)
		store(t, client, newObject(crdKind, "foos.x.dev", map[string]any{"spec": withVersions("None", true, true)}))
		pass(soon)
		if err := injector.Missing(); err == nil || !strings.Contains(err.Error(), "conversion strategy") || told.count() != 1 {
			t.Errorf("missing: %v, told %d times", err, told.count())
		}
	})
}

// However many replicas there are, they spend one budget: each takes the others' writes for its own.
func TestAFightOfThreeReplicasIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle := newCluster(standard()...), newBundle(t)
		var replicas []*Injector
		for range 3 {
			replicas = append(replicas, newInjector(t, client, Options{}))
		}
		run(t, bundle, replicas...)
		before, wiped := patches(client), 0
		var hours []int
		for range 6 {
			for range 720 {
				pass(5 * time.Second)
				if bundles(t, client)[0] != "" {
					wipe(t, client, "argocd-controller")
					wiped++
				}
			}
			hours = append(hours, patches(client)-before)
		}
		if hours[0] > 20 || hours[5]-hours[4] > 6 || hours[5] == hours[4] {
			t.Errorf("writes, hour by hour: %v", hours)
		}
		t.Logf("writes, hour by hour: %v; wiped %d times", hours, wiped)
	})
}

// A webhook configuration is cheap to write: an outage of all writes is not.
func TestAWebhookConfigurationIsPutBackEveryMinuteAtLeast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle := newCluster(standard()...), newBundle(t)
		run(t, bundle, newInjector(t, client, Options{}))
		for range 100 {
			store(t, client, newWebhooks(validatingKind, "fairlead-foo", "c.x.dev"))
			pass(75 * time.Second)
			if diff := cmp.Diff(repeated(bundle), bundles(t, client)); diff != "" {
				t.Fatalf("bundles (-want +got):\n%s", diff)
			}
		}
	})
}

func TestAStormOfChangesCostsOneLookPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle := newCluster(standard()...), newBundle(t)
		run(t, bundle, newInjector(t, client, Options{}))
		client.ClearActions()
		for n := range 6000 {
			stored, err := client.Tracker().Get(crdKind.resource, "", "foos.x.dev")
			if err != nil {
				t.Fatal(err)
			}
			object := stored.(*unstructured.Unstructured).DeepCopy()
			object.SetAnnotations(map[string]string{"n": strings.Repeat("x", n%7)})
			store(t, client, object)
			pass(10 * time.Millisecond)
		}
		if reads := len(client.Actions()); reads > 3*62 || patches(client) != 0 {
			t.Errorf("%d reads and %d writes in a minute", reads, patches(client))
		}
	})
}

func TestWhereNothingMayBeWatchedTheBundleIsHealedWithinTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle, log := newCluster(standard()...), newBundle(t), &logLines{}
		client.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
			return true, nil, apierrors.NewForbidden(crdKind.resource.GroupResource(), "foos.x.dev", errors.New("no role"))
		})
		run(t, bundle, newInjector(t, client, Options{Log: log.logger()}))
		wipe(t, client, "helm")
		pass(6 * time.Minute)
		if diff := cmp.Diff(repeated(bundle), bundles(t, client)); diff != "" {
			t.Errorf("bundles (-want +got):\n%s", diff)
		}
		if got := log.count("cannot be watched"); got != 3 {
			t.Errorf("%d lines of 3 watches", got)
		}
	})
}

// A panic while one target is looked at is an error of that target.
func TestAPanicIsAnErrorOfItsTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle := newCluster(standard()...), newBundle(t)
		client.PrependReactor("get", "customresourcedefinitions", func(clienttesting.Action) (bool, runtime.Object, error) { panic("a defect") }) //nolint:forbidigo // what it tests
		injector := newInjector(t, client, Options{})
		if _, err := injector.injectPending(t.Context(), injector.targets, bundle); err == nil || !strings.Contains(err.Error(), "a defect") {
			t.Errorf("the error is %v", err)
		}
		if err := injector.Observed(t.Context(), bundle); err == nil || !strings.Contains(err.Error(), "a defect") {
			t.Errorf("the error is %v", err)
		}
		if got := patches(client); got != 2 {
			t.Errorf("%d writes to the other 2 targets", got)
		}
	})
}

// store puts an object in the place of the one of its name, as another client does.
func store(t *testing.T, client *fake.FakeDynamicClient, object *unstructured.Unstructured) {
	t.Helper()
	resource := targetOf(t, object).kind.resource
	stored, err := client.Tracker().Get(resource, "", object.GetName())
	if err != nil {
		t.Fatal(err)
	}
	object.SetResourceVersion(stored.(*unstructured.Unstructured).GetResourceVersion() + "0")
	if len(object.GetResourceVersion()) > 12 {
		object.SetResourceVersion("2")
	}
	if err := client.Tracker().Update(resource, object, ""); err != nil {
		t.Fatal(err)
	}
}
