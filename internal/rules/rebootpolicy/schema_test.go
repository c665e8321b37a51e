// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/internal/rules"
	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

// site is a place in an object, with the schema that holds for it.
type site struct {
	at     []any // keys and indexes
	schema map[string]any
}

// path names the site as the schema does: any index is [*], and so is any key of a map.
func (s site) path() string {
	var out strings.Builder
	for _, step := range s.at {
		if name, ok := step.(string); ok && name != "*" {
			if out.Len() > 0 {
				out.WriteByte('.')
			}
			out.WriteString(name)
			continue
		}
		out.WriteString("[*]")
	}
	return out.String()
}

// specSchema returns the schema of the spec at v1, wrapped so that paths begin with "spec".
func specSchema(t testing.TB) map[string]any {
	t.Helper()
	root := validationtest.Schema(t, group, resource, "v1")
	root["properties"] = map[string]any{"spec": root["properties"].(map[string]any)["spec"]}
	return root
}

// schemaSites lists every node of a schema.
func schemaSites(at []any, schema map[string]any) []site {
	out := []site{{slices.Clone(at), schema}}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		out = append(out, schemaSites(append(at, name), properties[name].(map[string]any))...)
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[keyword].(map[string]any); ok {
			out = append(out, schemaSites(append(at, "*"), inner)...)
		}
	}
	return out
}

// objectSites lists every place of an object that its schema knows.
func objectSites(at []any, value any, schema map[string]any) []site {
	out := []site{{slices.Clone(at), schema}}
	switch value := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if inner, ok := properties[name].(map[string]any); ok {
				out = append(out, objectSites(append(at, name), value[name], inner)...)
			}
		}
	case []any:
		for i, item := range value {
			out = append(out, objectSites(append(at, i), item, schema["items"].(map[string]any))...)
		}
	}
	return out
}

// get returns the value at a site, or nil.
func get(value any, at []any) any {
	for _, step := range at {
		switch container := value.(type) {
		case map[string]any:
			value = container[step.(string)]
		case []any:
			value = container[step.(int)]
		default:
			return nil
		}
	}
	return value
}

// put returns a copy of the object with another value at a site; nil takes away what is there.
func put(obj map[string]any, at []any, value any) map[string]any {
	out := runtime.DeepCopyJSON(obj)
	last := at[len(at)-1]
	parent := get(out, at[:len(at)-1])
	switch parent := parent.(type) {
	case map[string]any:
		if parent[last.(string)] = value; value == nil {
			delete(parent, last.(string))
		}
	case []any:
		if parent[last.(int)] = value; value == nil {
			shorter := slices.Delete(slices.Clone(parent), last.(int), last.(int)+1)
			return put(out, at[:len(at)-1], shorter)
		}
	}
	return out
}

// bound is one keyword of a schema node, with values beyond it and within it.
type bound struct {
	keyword        string
	beyond, within []any
}

// bounds lists what the schema node of a site asks of the value there. A wrong JSON type is not
// among it: it does not decode.
func bounds(schema map[string]any, value any) []bound {
	var out []bound
	add := func(keyword string, l bound) {
		if _, ok := schema[keyword]; ok {
			l.keyword = keyword
			out = append(out, l)
		}
	}
	number := func(keyword string) int64 { n, _ := schema[keyword].(int64); return n }
	enum, _ := schema["enum"].([]any)
	list, _ := value.([]any)

	add("maxLength", bound{beyond: []any{text(schema, number("maxLength")+1)},
		within: []any{text(schema, number("maxLength")), strings.Repeat("ä", int(number("maxLength")))}})
	add("minLength", bound{beyond: []any{text(schema, number("minLength")-1)}, within: []any{text(schema, number("minLength"))}})
	add("minimum", bound{beyond: []any{number("minimum") - 1}, within: []any{number("minimum")}})
	add("maximum", bound{beyond: []any{number("maximum") + 1}, within: []any{number("maximum")}})
	add("enum", bound{beyond: []any{"Other"}, within: enum})
	if len(list) > 0 {
		add("maxItems", bound{beyond: []any{grow(list[0], number("maxItems")+1)}, within: []any{grow(list[0], number("maxItems"))}})
		add("minItems", bound{beyond: []any{[]any{}}, within: []any{list[:1]}})
		if kind := schema["x-kubernetes-list-type"]; kind == "map" || kind == "set" {
			add("x-kubernetes-list-type", bound{beyond: []any{append(slices.Clone(list), list[0])}, within: []any{list}})
		}
	}
	if _, ok := schema["maxProperties"]; ok {
		out = append(out, bound{"maxProperties", []any{labelsOf(number("maxProperties") + 1)}, []any{labelsOf(number("maxProperties"))}})
	}
	return out
}

// spans reports whether a schema node is a duration.
func spans(schema map[string]any) bool {
	return slices.Contains(messages(schema), rules.DurationMessage)
}

// text makes a text of n characters that reads as what the schema node wants.
func text(schema map[string]any, n int64) string {
	switch {
	case spans(schema) && n > 3:
		return strings.Repeat("0", int(n)-3) + "20m"
	case slices.Contains(messages(schema), "must start with /") && n > 0:
		return "/" + strings.Repeat("a", int(n)-1)
	}
	return strings.Repeat("a", max(0, int(n)))
}

// grow makes a list of n items like the given one, each with a name of its own.
func grow(item any, n int64) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = runtime.DeepCopyJSONValue(item)
		if object, ok := out[i].(map[string]any); ok && object["name"] != nil {
			object["name"] = fmt.Sprintf("item-%d", i)
		} else if _, ok := out[i].(string); ok {
			out[i] = fmt.Sprintf("item-%d", i)
		}
	}
	return out
}

func labelsOf(n int64) map[string]any {
	out := map[string]any{}
	for i := range n {
		out[fmt.Sprintf("key-%d", i)] = "value"
	}
	return out
}
