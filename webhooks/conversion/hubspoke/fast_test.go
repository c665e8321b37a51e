// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/api/common"
)

// normalized is an object whose restore annotations are read as well, since the two ways may order
// what stands in them differently.
func normalized(t *testing.T, raw []byte) tree {
	t.Helper()
	object, err := parseTree(raw)
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for _, key := range []string{common.ConversionDataAnnotation, common.V1Alpha1DataAnnotation} {
		if text, ok := annotations[key].(string); ok {
			saved, err := parseTree([]byte(text))
			if err != nil {
				t.Fatalf("annotation %s: %v", key, err)
			}
			annotations[key] = withoutNulls(map[string]any(saved))
		}
	}
	return withoutNulls(map[string]any(object)).(map[string]any)
}

func equalBothWays(t *testing.T, c *Converter, raw []byte, to string) (converted bool) {
	t.Helper()
	fast, ok := c.fastBytes(raw, to)
	if !ok {
		return false
	}
	slow, err := c.totalBytes(raw, to)
	if err != nil {
		t.Fatalf("the fast conversion converts what the total one does not: %v: %s", err, raw)
	}
	if diff := cmp.Diff(normalized(t, slow), normalized(t, fast)); diff != "" {
		t.Errorf("%s to %s (-total +fast):\n%s", raw, to, diff)
	}
	return true
}

func TestTheFastConversionTakesOrdinaryObjects(t *testing.T) {
	c := New(toyPair())
	const head = `{"kind":"Toy","metadata":{"name":"a","annotations":{"x":"y"},"managedFields":[{"a":1}]},`
	hubForm := head + `"apiVersion":"toy.fairlead.dev/v1",`
	spokeForm := head + `"apiVersion":"toy.fairlead.dev/v1alpha1",`
	for name, o := range map[string]struct {
		raw, to string
		fast    bool
	}{
		"nothing lost":       {spokeForm + `"spec":{"port":1}}`, "v1", true},
		"hub content":        {hubForm + `"spec":{"ports":[1,2],"note":"<n>"},"status":{"ready":true,"text":"t"}}`, "v1alpha1", true},
		"spoke content":      {spokeForm + `"spec":{"label":"l","port":1}}`, "v1", true},
		"no status":          {hubForm + `"spec":{}}`, "v1alpha1", true},
		"null member":        {hubForm + `"spec":{"note":null}}`, "v1alpha1", true},
		"any space":          {hubForm + ` "spec" : { "note" : "a b" , "ports" : [ 1 ] } }`, "v1alpha1", true},
		"unknown field":      {hubForm + `"spec":{"later":1}}`, "v1alpha1", false},
		"mistyped field":     {hubForm + `"spec":{"note":1}}`, "v1alpha1", false},
		"wrong case":         {hubForm + `"spec":{"Note":"n"}}`, "v1alpha1", false},
		"explicit empty":     {hubForm + `"spec":{"note":""}}`, "v1alpha1", false},
		"unknown section":    {hubForm + `"spec":{},"more":{}}`, "v1alpha1", false},
		"repeated name":      {hubForm + `"spec":{},"spec":{}}`, "v1alpha1", false},
		"same version":       {hubForm + `"spec":{}}`, "v1", false},
		"other group":        {`{"apiVersion":"x/v1","kind":"Toy","metadata":{},"spec":{}}`, "v1alpha1", false},
		"annotation no text": {`{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{"annotations":{"x":1}},"spec":{}}`, "v1alpha1", false},
		"other number":       {hubForm + `"spec":{"ports":[1.0]}}`, "v1alpha1", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := equalBothWays(t, c, []byte(o.raw), o.to); got != o.fast {
				t.Errorf("fast = %v, want %v", got, o.fast)
			}
		})
	}
}

func TestAnUneditedViewComesBackQuickly(t *testing.T) {
	c := New(toyPair())
	for name, raw := range map[string]string{
		"from the hub":   `{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{"name":"a"},"spec":{"ports":[1,2],"note":"n"},"status":{"text":"t"}}`,
		"from the spoke": `{"apiVersion":"toy.fairlead.dev/v1alpha1","kind":"Toy","metadata":{"name":"a"},"spec":{"port":1,"label":"l"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			there, back := "v1", "v1alpha1"
			if strings.Contains(raw, `dev/v1"`) {
				there, back = back, there
			}
			view, ok := c.fastBytes([]byte(raw), there)
			if !ok {
				t.Fatal("the view is not made by the fast conversion")
			}
			if !equalBothWays(t, c, view, back) {
				t.Error("the view does not come back by the fast conversion")
			}
			edited := []byte(strings.Replace(string(view), `"port":1`, `"port":7`, 1))
			if strings.Contains(raw, `dev/v1"`) && equalBothWays(t, c, edited, back) {
				t.Error("an edited view must be merged")
			}
		})
	}
}

func FuzzBothConversionsGiveTheSame(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spec":{"ports":[1,2],"note":"n"},"status":{"ready":true}}`, `{"spec":{"port":1,"label":"x"},"status":{"ready":true}}`,
		`{"spec":{"port":1,"payload":{"b":[1,null],"a":"\u003c"}}}`, `{"spec":{"port":null},"status":{}}`, `{"spec":[],"status":7}`,
		`{"spec":{"port":1},"spec":{"port":2}}`, `{"metadata":{"annotations":{"fairlead.dev/conversion-data":"{}"}},"spec":{"port":1}}`,
	} {
		for _, version := range []string{"v1", "v1alpha1"} {
			f.Add([]byte(seed), version)
		}
	}
	c := New(toyPair())
	f.Fuzz(func(t *testing.T, raw []byte, to string) {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil || object == nil || to != "v1" && to != "v1alpha1" {
			return
		}
		from := map[string]string{"v1": "v1alpha1", "v1alpha1": "v1"}[to]
		object["apiVersion"], object["kind"] = marshal("toy.fairlead.dev/"+from), marshal("Toy")
		whole, err := json.Marshal(object)
		if err != nil {
			return
		}
		if !equalBothWays(t, c, whole, to) {
			return
		}
		view, _ := c.fastBytes(whole, to)
		equalBothWays(t, c, view, from)
	})
}
