// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

func TestOnlyTheObjectThatFailsIsNamed(t *testing.T) {
	var failed []Failure
	h := newToyHandler(Options{Failed: func(f Failure) { failed = append(failed, f) }})
	withUID := strings.Replace(toy("v0", "old"), `"namespace"`, `"uid":"1-2","namespace"`, 1)
	post(h, reviewOf("toys.example.com/v1", toy("v1alpha1", "good"), withUID, toy("v1alpha1", "bomb"), toy("v7", "newer"), `null`, `{"metadata":{"uid":["x"]}}`))
	want := []Failure{
		{APIVersion: "toys.example.com/v0", Kind: "Toy", Desired: "toys.example.com/v1", Namespace: "shop", Name: "old", UID: "1-2"},
		{APIVersion: "toys.example.com/v1alpha1", Kind: "Toy", Desired: "toys.example.com/v1", Namespace: "shop", Name: "bomb"},
		{APIVersion: "toys.example.com/v7", Kind: "Toy", Desired: "toys.example.com/v1", Namespace: "shop", Name: "newer"},
		{Desired: "toys.example.com/v1"},
		{Desired: "toys.example.com/v1"},
	}
	if diff := cmp.Diff(want, failed); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAFailureIsNoLongerThanANameMayBe(t *testing.T) {
	f := failureOf(read(t, toy("v1", strings.Repeat("n", 10_000))), "toys.example.com/v1alpha1")
	if len(f.Name) > maxIdentity || !strings.HasPrefix(f.Name, "nnn") {
		t.Errorf("a name of %d bytes", len(f.Name))
	}
}

func TestALabelTakesWhatThereIs(t *testing.T) {
	for object, want := range map[string]string{
		`{"metadata":{"labels":{},"name":"db","namespace":"shop"},"kind":"Toy"}`: "shop/db",
		`{"metadata":{"name":"db"}}`:                       "db",
		`{"kind":"Toy"}`:                                   "(unnamed)",
		`{"metadata":null}`:                                "(unnamed)",
		`{"metadata":{"name":1,"namespace":[]},"kind":{}}`: "(unnamed)",
		`7`: "(unnamed)",
	} {
		if got := labelOf(read(t, object)); got != want {
			t.Errorf("the label of %s is %q, want %q", object, got, want)
		}
	}
}

func read(t *testing.T, object string) jsonindex.Value {
	t.Helper()
	value, err := new(jsonindex.Document).Read([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	return value
}
