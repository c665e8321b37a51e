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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fairlead-dev/fairlead/certs"
)

func TestObservedNamesWhatDoesNotTrustTheBundleAndWhoseBundleThatIs(t *testing.T) {
	one, two := newBundle(t), newBundle(t)
	both := slices.Concat(two, one)
	objects := standard()
	withBundle(t, objects[0].(*unstructured.Unstructured), one, "argocd-controller")
	withBundle(t, objects[1].(*unstructured.Unstructured), both, FieldOwner)
	withBundle(t, objects[2].(*unstructured.Unstructured), both, "another-manager")
	client := newCluster(objects...)
	injector := newInjector(t, client, Options{})
	if err := injector.Observed(t.Context(), one); err != nil {
		t.Errorf("all trust it: %v", err)
	}
	err := injector.Observed(t.Context(), both)
	if !errors.Is(err, certs.ErrBundleMissing) || errors.Is(err, certs.ErrTrustedNowhere) {
		t.Errorf("one does not trust all of it: %v", err)
	}
	if err := injector.Observed(t.Context(), newBundle(t)); !errors.Is(err, certs.ErrTrustedNowhere) {
		t.Errorf("none trusts it: %v", err)
	}
	for _, part := range []string{"CustomResourceDefinition foos.x.dev", `"argocd-controller"`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	if got := patches(client); got != 0 {
		t.Errorf("%d writes by looking", got)
	}
}

func TestObservedTellsAFailureToLookFromABundleThatIsNotThere(t *testing.T) {
	client := newCluster(standard()...)
	client.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	injector := newInjector(t, client, Options{})
	if err := injector.Observed(t.Context(), newBundle(t)); err == nil || errors.Is(err, certs.ErrBundleMissing) {
		t.Errorf("a dead server: %v", err)
	}
	if err := injector.Observed(t.Context(), nil); err == nil {
		t.Error("an empty bundle was seen")
	}
}

func TestAReplicaWithAnOldBundleDoesNotBringItBack(t *testing.T) {
	old, current := newBundle(t), newBundle(t)
	objects := standard()
	for _, object := range objects {
		withBundle(t, object.(*unstructured.Unstructured), current, FieldOwner)
	}
	client := newCluster(objects...)
	injector := newInjector(t, client, Options{Latest: func(context.Context) ([]byte, error) { return current, nil }})
	if err := injector.Publish(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if got := patches(client); got != 0 {
		t.Errorf("%d writes of an old bundle", got)
	}
}

func TestTheLatestBundleIsWrittenAndNothingWhereItIsNotKnown(t *testing.T) {
	old, current := newBundle(t), newBundle(t)
	client := newCluster(standard()...)
	var answer []byte
	var problem error
	asked := 0
	injector := newInjector(t, client, Options{Latest: func(context.Context) ([]byte, error) { asked++; return answer, problem }})
	for title, test := range map[string]struct {
		answer  []byte
		problem error
	}{"an error": {nil, errors.New("connection refused")}, "junk": {[]byte("junk"), nil}} {
		answer, problem = test.answer, test.problem
		if _, err := injector.injectPending(t.Context(), injector.targets, old); err == nil || patches(client) != 0 {
			t.Errorf("%s: %d writes, %v", title, patches(client), err)
		}
	}
	answer, problem = current, nil
	if _, err := injector.injectPending(t.Context(), injector.targets, old); err != nil || !slices.Equal(bundles(t, client), repeated(current)) {
		t.Errorf("the latest one is not there: %v", err)
	}
	before := asked
	if _, err := injector.injectPending(t.Context(), injector.targets, current); err != nil || asked != before {
		t.Errorf("asked %d times about a bundle that stands, %v", asked-before, err)
	}
}

func TestAnotherOrderOfTheSameRootsIsNoReasonToWrite(t *testing.T) {
	one, two := newBundle(t), newBundle(t)
	objects := standard()
	for _, object := range objects {
		withBundle(t, object.(*unstructured.Unstructured), slices.Concat(one, two), FieldOwner)
	}
	client := newCluster(objects...)
	if err := newInjector(t, client, Options{}).Publish(t.Context(), slices.Concat(two, one)); err != nil {
		t.Fatal(err)
	}
	if got := patches(client); got != 0 {
		t.Errorf("%d writes", got)
	}
}

// A delivery tool whose manifests hold a blank caBundle wipes it at every look of its own.
func TestAWriterThatKeepsTakingTheBundleAwayIsNamedAndAnsweredEverMoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle, log := newCluster(standard()...), newBundle(t), &logLines{}
		injector := newInjector(t, client, Options{Interval: 10 * time.Second, WriteBurst: 1000, Log: log.logger()})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- injector.Run(ctx, func() []byte { return bundle }) }()
		injector.Trigger()
		writes := map[int]int{} // by hour
		for step := range 6 * 360 {
			pass(10 * time.Second)
			writes[step/360] = patches(client)
			wipe(t, client, "helm")
		}
		if first, last := writes[0]-2, writes[5]-writes[4]; first > 12 || last > 2 || last < 1 {
			t.Errorf("%d writes of the definition in the first hour, %d in the last", first, last)
		}
		if log.count(`helm`) == 0 || log.count("remove caBundle from what it applies") == 0 {
			t.Errorf("who wipes it is not named: %v", log.text)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestATargetThatWasLeftInPeaceIsHealedSoonAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bundle := newCluster(standard()...), newBundle(t)
		injector := newInjector(t, client, Options{})
		heal := func() error { _, err := injector.injectPending(t.Context(), injector.targets, bundle); return err }
		for range 3 {
			if err := heal(); err != nil { // wiped in peace, it is healed at once
				t.Fatal(err)
			}
			wipe(t, client, "kubectl")
			if err := heal(); err == nil {
				t.Fatal("a bundle that did not last is written again at once")
			}
			pass(2 * initialBackoff)
			if err := heal(); err != nil {
				t.Fatal(err)
			}
			pass(time.Hour)
			if err := heal(); err != nil { // it stands still
				t.Fatal(err)
			}
			wipe(t, client, "kubectl")
		}
	})
}

func TestNoTargetIsWrittenBeyondItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(standard()...)
		injector := newInjector(t, client, Options{WriteBurst: 3, WriteEvery: time.Hour})
		var last error
		for range 20 {
			_, last = injector.injectPending(t.Context(), injector.targets, newBundle(t)) // another one each time
		}
		if got := patches(client); got != 3*3 {
			t.Errorf("%d writes to 3 targets", got)
		}
		if last == nil || !strings.Contains(last.Error(), "once in 1h now") {
			t.Errorf("the error is %v", last)
		}
		pass(time.Hour)
		if _, err := injector.injectPending(t.Context(), injector.targets, newBundle(t)); err != nil {
			t.Errorf("an hour later: %v", err)
		}
	})
}

func TestAnOwnerOfAnotherBundleIsNamedAndNotFought(t *testing.T) {
	for manager, operation := range map[string]metav1.ManagedFieldsOperationType{
		"argocd-controller": metav1.ManagedFieldsOperationApply, "helm": metav1.ManagedFieldsOperationUpdate,
	} {
		synctest.Test(t, func(t *testing.T) {
			objects, theirs := standard(), newBundle(t)
			owned := withBundle(t, objects[0].(*unstructured.Unstructured), theirs, manager)
			fields := owned.GetManagedFields()
			fields[0].Operation = operation
			owned.SetManagedFields(fields)
			client, log := newCluster(objects...), &logLines{}
			injector := newInjector(t, client, Options{Log: log.logger()})
			ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
			defer cancel()
			bundle := newBundle(t)
			if err := injector.Run(ctx, func() []byte { return bundle }); err != nil {
				t.Fatal(err)
			}
			if got := bundles(t, client)[0]; got != string(theirs) {
				t.Error("the other owner's bundle is gone")
			}
			if got := log.count(manager); got != 1 {
				t.Errorf("%d lines in a day name %s", got, manager)
			}
		})
	}
}

// wipe empties the definition's bundle, as another writer's update does.
func wipe(t *testing.T, client interface {
	Tracker() clienttesting.ObjectTracker
}, manager string) {
	t.Helper()
	stored, err := client.Tracker().Get(crdKind.resource, "", "foos.x.dev")
	if err != nil {
		t.Fatal(err)
	}
	wiped := newCRD("foos.x.dev")
	wiped.SetResourceVersion(stored.(*unstructured.Unstructured).GetResourceVersion() + "0")
	withBundle(t, wiped, []byte("\n"), manager) // an API server drops an empty one, whose writer is then not recorded
	if slots, err := crdKind.slots(stored.(*unstructured.Unstructured)); err != nil || isUseless(slots[0].current) {
		return
	}
	if err := client.Tracker().Update(crdKind.resource, wiped, ""); err != nil {
		t.Fatal(err)
	}
}

// Of all managers of an object, the one that owns the present value is named, and none where no value is left.
func TestOnlyTheWriterOfThePresentValueIsNamed(t *testing.T) {
	ours, theirs := newBundle(t), newBundle(t)
	for title, test := range map[string]struct {
		present []byte
		owner   string
		want    string
	}{
		"replaced by kubectl": {theirs, "kubectl-replace", `field manager "kubectl-replace" (Apply)`},
		"removed":             {nil, "", unknownWriter},
	} {
		for _, installed := range standard() {
			object := installed.(*unstructured.Unstructured)
			kind := targetOf(t, object).kind
			if test.owner != "" {
				withBundle(t, object, test.present, test.owner)
			}
			last := metav1.Now()
			object.SetManagedFields(append(object.GetManagedFields(), metav1.ManagedFieldsEntry{
				Manager: "fairlead-storage-migration", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: &last,
				FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:storedVersions":{}}}`),
			}))
			slots, err := kind.slots(object)
			if err != nil {
				t.Fatal(err)
			}
			if got := writer(kind, object, slots, ours); got != test.want {
				t.Errorf("%s, %s: %s, want %s", title, kind.name, got, test.want)
			}
		}
	}
}

// A webhook whose bundle is still there says nothing about who replaced that of another one.
func TestTheOwnerOfAnotherWebhooksBundleIsNotNamed(t *testing.T) {
	ours := newBundle(t)
	object := withBundle(t, newWebhooks(mutatingKind, "fairlead-foo", "a.x.dev", "b.x.dev"), ours, "kubectl-replace")
	slots, err := mutatingKind.slots(object)
	if err != nil {
		t.Fatal(err)
	}
	slots[1].current = nil
	own(object, mutatingKind, slots[:1], "kubectl-replace")
	if got := writer(mutatingKind, object, slots, ours); got != unknownWriter {
		t.Error(got)
	}
}
