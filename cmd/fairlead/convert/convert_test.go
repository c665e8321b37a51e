// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const old = "apiVersion: chaos.fairlead.dev/v1alpha1\nkind: ChaosPod\n"

func TestTextConvertsOurObjectsAndNothingElse(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"empty":                   {"", ""},
		"without metadata":        {old + "spec:\n  last: z\n  nextStop: x # y\n", "apiVersion: chaos.fairlead.dev/v1\nkind: ChaosPod\nspec:\n  last: z\n  schedule:\n    at: x\n"},
		"a value of a wrong type": {old + "spec: {nextStop: 5, last: z}\n", "apiVersion: chaos.fairlead.dev/v1\nkind: ChaosPod\nspec:\n  last: z\n  schedule:\n    at: 5\n"},
		"there already":           {"{apiVersion:   chaos.fairlead.dev/v1, kind: ChaosPod}", "{apiVersion:   chaos.fairlead.dev/v1, kind: ChaosPod}"},
		"only mentioned":          {"a: chaos.fairlead.dev/v1alpha1 # x\n", "a: chaos.fairlead.dev/v1alpha1 # x\n"},
		"of another group":        {"apiVersion: my.chaos.fairlead.dev/v1alpha1\nkind: ChaosPod\n", "apiVersion: my.chaos.fairlead.dev/v1alpha1\nkind: ChaosPod\n"},
		"a CRD of ours":           {"apiVersion: apiextensions.k8s.io/v1\nspec: {group: chaos.fairlead.dev}\n", "apiVersion: apiextensions.k8s.io/v1\nspec: {group: chaos.fairlead.dev}\n"},
		"a list within a list":    {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - apiVersion: chaos.fairlead.dev/v1alpha1 # a\n    kind: ChaosPod\n- b\n", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - apiVersion: chaos.fairlead.dev/v1 # a\n    kind: ChaosPod\n- b\n"},
		"a list of ours":          {"apiVersion: chaos.fairlead.dev/v1alpha1\nkind: ChaosPodList\nitems:\n- spec: {nextStop: x}\n", "apiVersion: chaos.fairlead.dev/v1\nkind: ChaosPodList\nitems:\n- spec:\n    schedule:\n      at: x\n"},
		"a list that says it all": {"apiVersion: chaos.fairlead.dev/v1\nkind: ChaosPodList\nitems:\n- apiVersion: chaos.fairlead.dev/v1alpha1\n  spec: {nextStop: x}\n- {}\n", "apiVersion: chaos.fairlead.dev/v1\nkind: ChaosPodList\nitems:\n- apiVersion: chaos.fairlead.dev/v1\n  spec:\n    schedule:\n      at: x\n- {}\n"},
		"a list without items":    {"apiVersion: chaos.fairlead.dev/v1alpha1\nkind: ChaosPodList\nitems: []\n", "apiVersion: chaos.fairlead.dev/v1\nkind: ChaosPodList\nitems: []\n"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := newConversion(t, Options{To: "v1"}).Text([]byte(test.text))
			if err != nil || len(result.Failed) > 0 {
				t.Fatal(err, result.Failed)
			}
			if diff := cmp.Diff(test.want, string(result.Text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if result.Changed != (test.text != test.want) {
				t.Errorf("changed is %v", result.Changed)
			}
		})
	}
}

func TestTextNamesTheObjectThatFails(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"a value in the way":  {old + "metadata: {name: a, namespace: shop}\nspec: {nextStop: x, schedule: 5}\n", "ChaosPod shop/a: spec.schedule: must be an object"},
		"an unknown kind":     {"apiVersion: chaos.fairlead.dev/v1\nkind: Doll\n", "has no kind \"Doll\"; its kinds are ChaosPod"},
		"no kind":             {"apiVersion: chaos.fairlead.dev/v1\n", "has no kind \"\""},
		"an unknown version":  {"apiVersion: chaos.fairlead.dev/v2\nkind: ChaosPod\n", "no version \"v2\"; ChaosPod is served at v1 and v1alpha1"},
		"an annotation of 5":  {old + "metadata: {annotations: {a: 5}}\n", "metadata.annotations[\"a\"] must be a string"},
		"annotations as list": {old + "metadata: {annotations: [a]}\n", "metadata.annotations must be"},
		"metadata as text":    {old + "metadata: a\n", "metadata must be"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "# x\n---\n" + test.text
			result, err := newConversion(t, Options{To: "v1"}).Text([]byte(text))
			if err != nil || len(result.Failed) != 1 || string(result.Text) != text {
				t.Fatalf("%v, %v\n%s", err, result.Failed, result.Text)
			}
			if got := result.Failed[0]; !strings.Contains(got.String(), test.want) || got.Line != 3 {
				t.Errorf("line %d: %q does not say %q", got.Line, got, test.want)
			}
		})
	}
}

func TestNewDemandsWhatItNeeds(t *testing.T) {
	for name, o := range map[string]Options{
		"no version":        {Kinds: pods()},
		"a version of none": {Kinds: pods(), To: "v9"},
		"an unknown kind":   {Kinds: []Kind{{Kind: "Toy", Types: pods()[0].Types}}, To: "v1"},
		"one version":       {Kinds: []Kind{{Group: "chaos.fairlead.dev", Kind: "ChaosPod"}}, To: "v1"},
		"no kinds at all":   {To: "v1"},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
