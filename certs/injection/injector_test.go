// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

func newInjector(t *testing.T, client *fake.FakeDynamicClient, options Options) *Injector {
	t.Helper()
	options.Client, options.CRDs, options.Webhooks = client, []string{"foos.x.dev"}, []string{"fairlead-foo"}
	injector, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return injector
}

// repeated is the bundle once for each slot of the standard targets.
func repeated(bundle []byte) []string { return slices.Repeat([]string{string(bundle)}, 4) }

func TestPublishFillsEverySlotOnceAndThenWritesNothing(t *testing.T) {
	client, bundle, registry := newCluster(standard()...), newBundle(t), prometheus.NewRegistry()
	injector := newInjector(t, client, Options{Registerer: registry})
	for range 3 {
		if err := injector.Publish(t.Context(), bundle); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(repeated(bundle), bundles(t, client)); diff != "" {
		t.Errorf("bundles (-want +got):\n%s", diff)
	}
	if got := patches(client); got != 3 {
		t.Errorf("%d writes to 3 targets", got)
	}
	want := map[string]float64{}
	for _, kind := range []string{"CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		want[kind+" written"], want[kind+" unchanged"] = 1, 2
	}
	if diff := cmp.Diff(want, counts(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	for _, action := range client.Actions() {
		if verb := action.GetVerb(); verb != "get" && verb != "patch" {
			t.Errorf("%s is not among the permissions", verb)
		}
	}
}

func TestPublishRefusesABundleThatIsNone(t *testing.T) {
	client := newCluster(standard()...)
	good := newBundle(t)
	key := []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
	for title, bundle := range map[string][]byte{
		"nil": nil, "empty": {}, "line feed": []byte("\n"), "junk": []byte("junk"),
		"cut short": good[:len(good)-20], "a key": key, "a key after a certificate": slices.Concat(good, key),
		"junk after a certificate": slices.Concat(good, []byte("junk")),
	} {
		if err := newInjector(t, client, Options{}).Publish(t.Context(), bundle); err == nil || !strings.Contains(err.Error(), "nothing was written") {
			t.Errorf("%s: %v", title, err)
		}
	}
	if got := len(client.Actions()); got != 0 {
		t.Errorf("%d requests", got)
	}
}

func TestPublishServesTheOtherTargetsAndNamesTheMissingOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := standard()
		client, bundle := newCluster(objects[1:]...), newBundle(t)
		began := time.Now()
		err := newInjector(t, client, Options{}).Publish(t.Context(), bundle)
		for _, part := range []string{"CustomResourceDefinition foos.x.dev", "does not exist", "make install"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in: %v", part, err)
			}
		}
		if took := time.Since(began); took < time.Minute || took > 2*time.Minute {
			t.Errorf("gave up after %s", took)
		}
		if got := patches(client); got != 2 {
			t.Errorf("%d writes to the 2 targets that are there", got)
		}
		reads := 0
		for _, action := range client.Actions() {
			if action.Matches("get", mutatingKind.resource.Resource) {
				reads++
			}
		}
		if reads != 2 {
			t.Errorf("%d reads of a target that had the bundle after two", reads)
		}
	})
}

func TestPublishWaitsForATargetThatIsBeingInstalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := standard()
		client, bundle := newCluster(objects[1:]...), newBundle(t)
		time.AfterFunc(30*time.Second, func() {
			_, _ = client.Resource(crdKind.resource).Create(context.Background(), objects[0].(*unstructured.Unstructured), metav1.CreateOptions{})
		})
		if err := newInjector(t, client, Options{}).Publish(t.Context(), bundle); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(repeated(bundle), bundles(t, client)); diff != "" {
			t.Errorf("bundles (-want +got):\n%s", diff)
		}
	})
}

func TestPublishBearsWithADeadServerUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle := newCluster(standard()...), newBundle(t)
		dead := true
		client.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return dead, nil, errors.New("connection refused")
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := newInjector(t, client, Options{}).Publish(ctx, bundle)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("Publish: %v", err)
		}
		time.AfterFunc(time.Hour, func() { dead = false })
		if err := newInjector(t, client, Options{}).Publish(t.Context(), bundle); err != nil {
			t.Errorf("Publish: %v", err)
		}
	})
}

// Run follows a bundle that changes, and Publish does not: one that waited for a single target would keep the rest from it.
func TestPublishEndsWhereOneTargetDoesNotRespond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(standard()...)
		client.PrependReactor("get", "customresourcedefinitions", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, context.DeadlineExceeded
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := newInjector(t, client, Options{}).Publish(ctx, newBundle(t))
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "foos.x.dev") {
			t.Errorf("Publish: %v", err)
		}
	})
}

func TestPublishNamesThePermissionItLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(standard()...)
		client.PrependReactor("patch", "customresourcedefinitions", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(crdKind.resource.GroupResource(), "foos.x.dev", errors.New("no role"))
		})
		err := newInjector(t, client, Options{}).Publish(t.Context(), newBundle(t))
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "get and patch") || !strings.Contains(err.Error(), "foos.x.dev") {
			t.Errorf("Publish: %v", err)
		}
	})
}

func TestAnotherOwnersBundleIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects, theirs, ours := standard(), newBundle(t), newBundle(t)
		withBundle(t, objects[0].(*unstructured.Unstructured), theirs, "helm")
		client := newCluster(objects...)
		err := newInjector(t, client, Options{}).Publish(t.Context(), ours)
		if err == nil || !strings.Contains(err.Error(), "another field manager") || !strings.Contains(err.Error(), `"helm"`) {
			t.Errorf("Publish: %v", err)
		}
		if got := bundles(t, client)[0]; got != string(theirs) {
			t.Error("the other owner's bundle is gone")
		}
	})
}

func TestATargetOfCertManagerIsNeverWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := standard()
		objects[0].(*unstructured.Unstructured).SetAnnotations(map[string]string{"cert-manager.io/inject-ca-from": "ns/name"})
		client := newCluster(objects...)
		err := newInjector(t, client, Options{}).Publish(t.Context(), newBundle(t))
		if err == nil || !strings.Contains(err.Error(), "cert-manager.io/inject-ca-from") {
			t.Errorf("Publish: %v", err)
		}
		if got := bundles(t, client)[0]; got != "" {
			t.Error("it was written")
		}
	})
}

func TestATargetThatChangesBetweenReadingAndWritingIsReadAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle := newCluster(standard()...), newBundle(t)
		races := 2
		client.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if races--; races >= 0 {
				return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), "x", nil)
			}
			return false, nil, nil
		})
		began := time.Now()
		if err := newInjector(t, client, Options{}).Publish(t.Context(), bundle); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("waited %s", took)
		}
		if diff := cmp.Diff(repeated(bundle), bundles(t, client)); diff != "" {
			t.Errorf("bundles (-want +got):\n%s", diff)
		}
	})
}

func TestAWriteThatDoesNotStandIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(standard()...)
		client.PrependReactor("patch", "customresourcedefinitions", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, newCRD("foos.x.dev"), nil // taken, and gone
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := newInjector(t, client, Options{}).Publish(ctx, newBundle(t))
		if err == nil || !strings.Contains(err.Error(), "was removed or replaced") {
			t.Errorf("Publish: %v", err)
		}
	})
}

func TestRunHealsWhatWasWipedAndFollowsTheBundle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle := newCluster(standard()...), newBundle(t)
		injector := newInjector(t, client, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- injector.Run(ctx, func() []byte { return bundle }) }()
		pass(7 * time.Minute)
		if diff := cmp.Diff(repeated(bundle), bundles(t, client)); diff != "" {
			t.Errorf("after an interval (-want +got):\n%s", diff)
		}
		wiped := newCRD("foos.x.dev")
		if err := client.Tracker().Update(crdKind.resource, wiped, ""); err != nil {
			t.Fatal(err)
		}
		pass(7 * time.Minute)
		if diff := cmp.Diff(repeated(bundle), bundles(t, client)); diff != "" {
			t.Errorf("after a wipe (-want +got):\n%s", diff)
		}
		client.ClearActions()
		pass(24 * time.Hour)
		if got := patches(client); got != 0 {
			t.Errorf("%d writes in an idle day", got)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestATriggerMakesRunLookAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle := newCluster(standard()...), newBundle(t)
		injector := newInjector(t, client, Options{})
		injector.Trigger()
		injector.Trigger() // does not block while nothing listens
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		var current []byte
		go func() { ended <- injector.Run(ctx, func() []byte { return current }) }()
		synctest.Wait()
		if got := len(client.Actions()); got != 0 {
			t.Errorf("%d requests without a bundle", got)
		}
		current = bundle
		injector.Trigger()
		synctest.Wait()
		if diff := cmp.Diff(repeated(bundle), bundles(t, client)); diff != "" {
			t.Errorf("bundles (-want +got):\n%s", diff)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestTargetsAreTheDefinitionsAndBothWebhookConfigurationsOfAName(t *testing.T) {
	injector, err := New(Options{Client: newCluster(), Webhooks: []string{"fairlead-foo"}, CRDs: []string{"foos.x.dev"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, target := range injector.targets {
		got = append(got, target.String())
	}
	want := []string{
		"CustomResourceDefinition foos.x.dev",
		"MutatingWebhookConfiguration fairlead-foo",
		"ValidatingWebhookConfiguration fairlead-foo",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := New(Options{}); err == nil {
		t.Error("no client is accepted")
	}
}

// pass lets time go by on the bubble's clock and waits for what it sets off.
func pass(span time.Duration) {
	time.Sleep(span) //nolint:forbidigo // the bubble's clock goes at once to its end
	synctest.Wait()
}

// counts are the injections by kind and result, as the registry publishes them.
func counts(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "fairlead_ca_injections_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			found[labels["target_kind"]+" "+labels["result"]] = metric.GetCounter().GetValue()
		}
	}
	return found
}

// What other managers wrote, what another installation has and what is not there is not the operator's to keep.
func TestPublishedIsWhatTheInjectorWrote(t *testing.T) {
	ours, foreign := newBundle(t), newBundle(t)
	objects := standard()
	client := newCluster(
		withBundle(t, objects[0].(*unstructured.Unstructured), ours, FieldOwner),
		withBundle(t, objects[1].(*unstructured.Unstructured), foreign, "kubectl"))
	injector := newInjector(t, client, Options{})
	if got, err := injector.Published(t.Context()); err != nil || string(got) != string(ours) {
		t.Errorf("published: %q, %v", got, err)
	}
	client.PrependReactor("get", "mutatingwebhookconfigurations", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("etcd"))
	})
	if _, err := injector.Published(t.Context()); err == nil {
		t.Error("what is published is known although a target could not be read")
	}
	client.PrependReactor("get", "mutatingwebhookconfigurations", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(mutatingKind.resource.GroupResource(), "fairlead-foo", errors.New("no role"))
	})
	if got, err := injector.Published(t.Context()); err != nil || string(got) != string(ours) {
		t.Errorf("published: %q, %v", got, err)
	}
	other := newInjector(t, client, Options{Service: types.NamespacedName{Namespace: "second", Name: "fairlead-webhook"}})
	if got, err := other.Published(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("published by another installation: %q, %v", got, err)
	}
}
