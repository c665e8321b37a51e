// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const old = "apiVersion: toys.example.com/v1alpha1\nkind: Toy\n"

func TestTextConvertsOurObjectsAndNothingElse(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"empty":                   {"", ""},
		"without metadata":        {old + "spec:\n  last: z\n  old: x # y\n", "apiVersion: toys.example.com/v1\nkind: Toy\nspec:\n  last: z\n  new: x\n"},
		"a value of a wrong type": {old + "spec: {old: 5, last: z}\n", "apiVersion: toys.example.com/v1\nkind: Toy\nspec:\n  last: z\n  new: 5\n"},
		"there already":           {"{apiVersion:   toys.example.com/v1, kind: Toy}", "{apiVersion:   toys.example.com/v1, kind: Toy}"},
		"only mentioned":          {"a: toys.example.com/v1alpha1 # x\n", "a: toys.example.com/v1alpha1 # x\n"},
		"of another group":        {"apiVersion: my.toys.example.com/v1alpha1\nkind: Toy\n", "apiVersion: my.toys.example.com/v1alpha1\nkind: Toy\n"},
		"a CRD of ours":           {"apiVersion: apiextensions.k8s.io/v1\nspec: {group: toys.example.com}\n", "apiVersion: apiextensions.k8s.io/v1\nspec: {group: toys.example.com}\n"},
		"a list within a list":    {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - apiVersion: toys.example.com/v1alpha1 # a\n    kind: Toy\n- b\n", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - apiVersion: toys.example.com/v1 # a\n    kind: Toy\n- b\n"},
		"a list of ours":          {"apiVersion: toys.example.com/v1alpha1\nkind: ToyList\nitems:\n- spec: {old: x}\n", "apiVersion: toys.example.com/v1\nkind: ToyList\nitems:\n- spec:\n    new: x\n"},
		"a list that says it all": {"apiVersion: toys.example.com/v1\nkind: ToyList\nitems:\n- apiVersion: toys.example.com/v1alpha1\n  spec: {old: x}\n- {}\n", "apiVersion: toys.example.com/v1\nkind: ToyList\nitems:\n- apiVersion: toys.example.com/v1\n  spec:\n    new: x\n- {}\n"},
		"a list without items":    {"apiVersion: toys.example.com/v1alpha1\nkind: ToyList\nitems: []\n", "apiVersion: toys.example.com/v1\nkind: ToyList\nitems: []\n"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := newToys(t, Options{To: "v1"}).Text([]byte(test.text))
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
		"a failure":           {old + "metadata: {name: a, namespace: shop}\nspec: {old: fail}\n", "Toy shop/a: cannot be said"},
		"a panic":             {old + "metadata: {generateName: a-}\nspec: {old: panic}\n", "Toy a-*: the converter panicked"},
		"another object":      {old + "spec: {old: other}\n", "Toy without a name: the converter returned no Toy of v1"},
		"an unknown kind":     {"apiVersion: toys.example.com/v1\nkind: Doll\n", "has no kind \"Doll\"; its kinds are Elder, Toy"},
		"no kind":             {"apiVersion: toys.example.com/v1\n", "has no kind \"\""},
		"an unknown version":  {"apiVersion: toys.example.com/v2\nkind: Toy\n", "no version \"v2\"; Toy is served at v1 and v1alpha1"},
		"no such version":     {"apiVersion: toys.example.com/v0\nkind: Elder\n", "no version \"v1\"; Elder is served at v0 and v1alpha1"},
		"an annotation of 5":  {old + "metadata: {annotations: {a: 5}}\n", "metadata.annotations[\"a\"] must be a string"},
		"annotations as list": {old + "metadata: {annotations: [a]}\n", "metadata.annotations must be"},
		"metadata as text":    {old + "metadata: a\n", "metadata must be"},
		"too much to restore": {old + "spec: {a: '####'}\n", "takes 4 bytes, and the restore annotation may have 3"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "# x\n---\n" + test.text
			result, err := newToys(t, Options{To: "v1", MaxRestore: 3}).Text([]byte(text))
			if err != nil || len(result.Failed) != 1 || string(result.Text) != text {
				t.Fatalf("%v, %v\n%s", err, result.Failed, result.Text)
			}
			if got := result.Failed[0]; !strings.Contains(got.String(), test.want) || got.Line != 3 {
				t.Errorf("line %d: %q does not say %q", got.Line, got, test.want)
			}
		})
	}
}

func TestDropRestoreTakesTheAnnotationAndSaysSo(t *testing.T) {
	text := old + "metadata:\n  name: lossy\n"
	kept, err := newToys(t, Options{To: "v1"}).Text([]byte(text))
	if err != nil || !strings.Contains(string(kept.Text), annotation) || len(kept.Notes) > 0 {
		t.Errorf("%v, %v\n%s", err, kept.Notes, kept.Text)
	}
	dropped, err := newToys(t, Options{To: "v1", DropRestore: true}).Text([]byte(text))
	if err != nil || strings.Contains(string(dropped.Text), "annotation") || len(dropped.Notes) != 1 {
		t.Errorf("%v, %v\n%s", err, dropped.Notes, dropped.Text)
	}
}

func TestNewDemandsWhatItNeeds(t *testing.T) {
	for name, o := range map[string]Options{
		"no version":        {Kinds: toys()},
		"a version of none": {Kinds: toys(), To: "v9"},
		"no converter":      {Kinds: []Kind{{Kind: "Toy", Types: toys()[0].Types}}, To: "v1"},
		"one version":       {Kinds: []Kind{{Kind: "Toy", Converter: toy{}}}, To: "v1"},
		"no kinds at all":   {To: "v1"},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
