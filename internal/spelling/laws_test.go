// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
)

// drawn draws an object of a kind at a version: what the table names there is often in it, beside other fields.
func drawn(t *rapid.T, kind schema.GroupKind, version string) map[string]any {
	spec := map[string]any{}
	for _, name := range []string{"a", "target", "schedule", "suspend"} {
		if rapid.Bool().Draw(t, name) {
			spec[name] = object(t, 2)
		}
	}
	for _, move := range tables[kind] {
		path := strings.Split(move.at(version), ".")[1:]
		if !rapid.Bool().Draw(t, move.Hub) {
			continue
		}
		parent := spec
		for _, name := range path[:len(path)-1] {
			if _, has := parent[name]; !has {
				parent[name] = map[string]any{}
			}
			parent = parent[name].(map[string]any)
		}
		parent[path[len(path)-1]] = value(t, 3)
	}
	return map[string]any{
		"apiVersion": kind.Group + "/" + version, "kind": kind.Kind, "metadata": map[string]any{"name": "x"},
		"spec": spec, "status": value(t, 2),
	}
}

func (m Move) at(version string) string {
	if version == V1alpha1 {
		return m.V1alpha1
	}
	return m.Hub
}

func value(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 6).Draw(t, "type"); {
	case kind == 0:
		return rapid.StringN(0, 5, 20).Draw(t, "text")
	case kind == 1:
		return float64(rapid.IntRange(-9, 9).Draw(t, "number"))
	case kind == 2:
		return rapid.Bool().Draw(t, "truth")
	case kind == 3:
		return nil
	case kind == 4 && depth > 0:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, value(t, depth-1))
		}
		return list
	}
	return object(t, depth)
}

func object(t *rapid.T, depth int) map[string]any {
	made := map[string]any{}
	for range rapid.IntRange(0, min(depth, 3)).Draw(t, "members") {
		made[rapid.SampledFrom([]string{"b", "c", "spec", "workload", "interval", ""}).Draw(t, "name")] = value(t, depth-1)
	}
	return made
}

// paths adds the paths of all that is in a value.
func paths(value any, at string, all map[string]bool) map[string]bool {
	all[at] = true
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			paths(member, at+"/"+name, all)
		}
	case []any:
		for i, item := range value {
			paths(item, fmt.Sprint(at, "/", i), all)
		}
	}
	return all
}

// without calls a function with each object that lacks one of the fields of another.
func without(value any, each func(changed any)) {
	object, is := value.(map[string]any)
	if !is {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		less := maps.Clone(object)
		delete(less, name)
		each(less)
		without(object[name], func(changed any) {
			other := maps.Clone(object)
			other[name] = changed
			each(other)
		})
	}
}

// Server-side apply relies on TestLawARemovalRemovesAtBothVersions. It converts the fields that a manager gives up to the
// version of each other manager, and keeps every path that is still there.
func TestLawARemovalRemovesAtBothVersions(t *testing.T) {
	for kind := range tables {
		for _, versions := range [][2]string{{Hub, V1alpha1}, {V1alpha1, Hub}} {
			t.Run(kind.Kind+" at "+versions[0], rapid.MakeCheck(func(t *rapid.T) {
				x := drawn(t, kind, versions[0])
				before := paths(atVersion(t, kind, x, versions[1]), "", map[string]bool{})
				without(x["spec"], func(spec any) {
					less := maps.Clone(x)
					less["spec"] = spec
					for path := range paths(atVersion(t, kind, less, versions[1]), "", map[string]bool{}) {
						if !before[path] {
							t.Fatalf("%v\nis at the other version without\n%s,\nwhich a smaller spec has: %v", x, path, spec)
						}
					}
				})
			}))
		}
	}
}

// TestLawNothingIsLost goes to the other version and back. Of what the table moves, an object that is left empty is nothing.
func TestLawNothingIsLost(t *testing.T) {
	for kind := range tables {
		for _, versions := range [][2]string{{Hub, V1alpha1}, {V1alpha1, Hub}} {
			t.Run(kind.Kind+" at "+versions[0], rapid.MakeCheck(func(t *rapid.T) {
				x := drawn(t, kind, versions[0])
				back := atVersion(t, kind, atVersion(t, kind, x, versions[1]), versions[0])
				if diff := cmp.Diff(withoutEmpty(kind, x), withoutEmpty(kind, back)); diff != "" {
					t.Fatal(diff)
				}
			}))
		}
	}
}

func atVersion(t *rapid.T, kind schema.GroupKind, object map[string]any, version string) map[string]any {
	raw, err := json.Marshal(object)
	if err == nil {
		raw, err = tables[kind].Convert(raw, kind.Group, version)
	}
	var converted map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &converted)
	}
	if err != nil {
		t.Fatalf("%v: %v", object, err)
	}
	return converted
}

// withoutEmpty returns an object without the empty objects from which the table moves something.
func withoutEmpty(kind schema.GroupKind, object map[string]any) map[string]any {
	object = maps.Clone(object)
	spec := maps.Clone(object["spec"].(map[string]any))
	for _, move := range tables[kind] {
		if path := strings.Split(move.Hub, "."); len(path) == 3 {
			if inner, is := spec[path[1]].(map[string]any); is && len(inner) == 0 {
				delete(spec, path[1])
			}
		}
	}
	object["spec"] = spec
	return object
}

func FuzzAnyObjectKeepsItsText(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spec":null}`, `{"spec":7}`, `{"spec":{"probe":1e999,"x":18446744073709551616}}`, `{"spec":{"template":{},"target":5}}`,
		`{"spec":{"target":{"template":null},"schedule":{"at":"x"}}}`, `{"spec":{"a":"\ud800","a":1},"spec":2}`, `[]`, `{"a":`, `{} {}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for kind, table := range tables {
			for _, version := range []string{Hub, V1alpha1} {
				converted, err := table.Convert(raw, kind.Group, version)
				if err == nil && json.Valid(raw) && !json.Valid(converted) {
					t.Errorf("%s became %s", raw, converted)
				}
			}
		}
	})
}
