// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyTheObjectThatFailsIsNamed(t *testing.T) {
	var failed []Failure
	h := newToyHandler(t, Options{Failed: func(f Failure) { failed = append(failed, f) }})
	withUID := strings.Replace(toy("v1", "poison"), `"namespace"`, `"uid":"1-2","namespace"`, 1)
	post(h, reviewOf("toys.example.com/v1alpha1", toy("v1", "good"), withUID, toy("v1", "bomb"), toy("v7", "newer"), `null`, `{"metadata":{"uid":["x"]}}`))
	want := []Failure{
		{APIVersion: "toys.example.com/v1", Kind: "Toy", Desired: "toys.example.com/v1alpha1", Namespace: "shop", Name: "poison", UID: "1-2"},
		{APIVersion: "toys.example.com/v1", Kind: "Toy", Desired: "toys.example.com/v1alpha1", Namespace: "shop", Name: "bomb"},
		{APIVersion: "toys.example.com/v7", Kind: "Toy", Desired: "toys.example.com/v1alpha1", Namespace: "shop", Name: "newer"},
		{Desired: "toys.example.com/v1alpha1"},
		{Desired: "toys.example.com/v1alpha1"},
	}
	if diff := cmp.Diff(want, failed); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAFailureIsNoLongerThanANameMayBe(t *testing.T) {
	f := failureOf([]byte(toy("v1", strings.Repeat("n", 10_000))), "toys.example.com/v1alpha1")
	if len(f.Name) > maxIdentity || !strings.HasPrefix(f.Name, "nnn") {
		t.Errorf("a name of %d bytes", len(f.Name))
	}
}
