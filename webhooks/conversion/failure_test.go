// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestOnlyTheObjectThatFailsIsNamed(t *testing.T) {
	var failed []Failure
	h := newChaosPodHandler(Options{Failed: func(f Failure) { failed = append(failed, f) }})
	withUID := strings.Replace(pod("v0", "old"), `"namespace"`, `"uid":"1-2","namespace"`, 1)
	post(h, reviewOf("chaos.fairlead.dev/v1", pod("v1alpha1", "good"), withUID, pod("v1alpha1", "stuck"), pod("v7", "newer"), `null`, `{"metadata":{"uid":["x"]}}`))
	want := []Failure{
		{APIVersion: "chaos.fairlead.dev/v0", Kind: "ChaosPod", Desired: "chaos.fairlead.dev/v1", Namespace: "shop", Name: "old", UID: "1-2"},
		{APIVersion: "chaos.fairlead.dev/v1alpha1", Kind: "ChaosPod", Desired: "chaos.fairlead.dev/v1", Namespace: "shop", Name: "stuck"},
		{APIVersion: "chaos.fairlead.dev/v7", Kind: "ChaosPod", Desired: "chaos.fairlead.dev/v1", Namespace: "shop", Name: "newer"},
		{Desired: "chaos.fairlead.dev/v1"},
		{Desired: "chaos.fairlead.dev/v1"},
	}
	if diff := cmp.Diff(want, failed); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAFailureIsNoLongerThanANameMayBe(t *testing.T) {
	f := identify(runtime.RawExtension{Raw: []byte(pod("v1", strings.Repeat("n", 10_000)))}).failure("chaos.fairlead.dev/v1alpha1")
	if len(f.Name) > maxIdentity || !strings.HasPrefix(f.Name, "nnn") {
		t.Errorf("a name of %d bytes", len(f.Name))
	}
}

func TestALabelTakesWhatThereIs(t *testing.T) {
	for object, want := range map[string]string{
		`{"metadata":{"labels":{},"name":"db","namespace":"shop"},"kind":"ChaosPod"}`: "shop/db",
		`{"metadata":{"name":"db"}}`:                       "db",
		`{"kind":"ChaosPod"}`:                              "(unnamed)",
		`{"metadata":null}`:                                "(unnamed)",
		`{"metadata":{"name":1,"namespace":[]},"kind":{}}`: "(unnamed)",
		`7`: "(unnamed)",
	} {
		if got := identify(runtime.RawExtension{Raw: []byte(object)}).label(); got != want {
			t.Errorf("the label of %s is %q, want %q", object, got, want)
		}
	}
}
