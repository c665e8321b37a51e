// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

// mutation changes one thing of an object, where the object has the place for it.
type mutation struct {
	name   string
	apply  func(obj map[string]any) bool
	breaks bool   // the schema must refuse a valid object after it
	rule   string // the message of the CEL rule it is meant to break, if any
}

// schema returns the v1 schema of the CRD.
func schema(t testing.TB) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	return validationtest.TypedSchema(t, group, resource, "v1")
}

// tooTyped are the constraints that the typed form cannot break: an empty string is an absent one.
var tooTyped = map[string]bool{
	"spec.healthCheck.tls.caSecretName minLength":            true,
	"spec.healthCheck.httpGet.httpHeaders[*].value required": true,
}

// constraints derives, from the CRD itself, mutations that break every constraint of the spec's
// schema, and others that go right to its bound. A constraint that is added later is thereby
// tested without a change here.
func constraints(t testing.TB, s *apiextensionsv1.JSONSchemaProps, path []string) []mutation {
	var out []mutation
	add := func(constraint string, breaks bool, value any) {
		name := pathString(path) + " " + constraint
		if tooTyped[name] {
			return
		}
		out = append(out, mutation{name: name, breaks: breaks, apply: func(obj map[string]any) bool {
			parent, last, ok := at(obj, path)
			if !ok {
				return false
			}
			if last == "[*]" {
				return false
			}
			parent[last] = copyJSON(value)
			return true
		}})
	}
	valueConstraints(t, s, add)
	if s.Items != nil {
		out = append(out, listConstraints(t, s, path)...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		child := append(slices.Clone(path), name)
		out = append(out, constraints(t, &property, child)...)
		if slices.Contains(s.Required, name) && !tooTyped[pathString(child)+" required"] {
			out = append(out, mutation{name: pathString(child) + " required", breaks: true, apply: func(obj map[string]any) bool {
				parent, last, ok := at(obj, child)
				if ok {
					delete(parent, last)
				}
				return ok
			}})
		}
	}
	return out
}

// valueConstraints adds those of a value itself.
func valueConstraints(t testing.TB, s *apiextensionsv1.JSONSchemaProps, add func(constraint string, breaks bool, value any)) {
	text := func(unit string, n int64) string { return strings.Repeat(unit, int(n)) }
	if s.MinLength != nil && *s.MinLength > 0 {
		add("minLength", true, "")
		add("minLength bound", false, text("a", *s.MinLength))
	}
	if s.MaxLength != nil {
		add("maxLength", true, text("a", *s.MaxLength+1))
		add("maxLength bound", false, text("a", *s.MaxLength))
		add("maxLength in characters", false, text("é", *s.MaxLength))
	}
	if s.Pattern != "" {
		add("pattern", true, "!")
	}
	if s.Minimum != nil {
		add("minimum", true, int64(*s.Minimum)-1)
		add("minimum bound", false, int64(*s.Minimum))
	}
	if s.Maximum != nil {
		add("maximum", true, int64(*s.Maximum)+1)
		add("maximum bound", false, int64(*s.Maximum))
	}
	if len(s.Enum) > 0 {
		add("enum", true, "Nonesuch")
		add("enum, empty", true, "")
		for _, raw := range s.Enum {
			var value string
			if err := json.Unmarshal(raw.Raw, &value); err != nil {
				t.Fatal(err)
			}
			add("enum "+value, false, value)
		}
	}
	if s.MaxProperties != nil {
		add("maxProperties", true, manyKeys(int(*s.MaxProperties)+1))
		add("maxProperties bound", false, manyKeys(int(*s.MaxProperties)))
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema.MaxLength != nil {
		add("value maxLength", true, map[string]any{"k": text("a", *s.AdditionalProperties.Schema.MaxLength+1)})
		add("value maxLength bound", false, map[string]any{"k": text("a", *s.AdditionalProperties.Schema.MaxLength)})
	}
}

// listConstraints are those of a list's length, of its keys, and of its items.
func listConstraints(t testing.TB, s *apiextensionsv1.JSONSchemaProps, path []string) []mutation {
	var out []mutation
	list := func(constraint string, breaks bool, change func([]any) []any) {
		out = append(out, mutation{name: pathString(path) + " " + constraint, breaks: breaks, apply: func(obj map[string]any) bool {
			parent, last, ok := at(obj, path)
			if !ok {
				return false
			}
			items, _ := parent[last].([]any)
			if len(items) == 0 {
				return false
			}
			parent[last] = change(copyJSON(items).([]any))
			return true
		}})
	}
	resize := func(n int) func([]any) []any {
		return func(items []any) []any {
			out := make([]any, 0, n)
			for i := range n {
				out = append(out, vary(items[0], i))
			}
			return out
		}
	}
	if s.MinItems != nil {
		list("minItems", true, resize(int(*s.MinItems)-1))
	}
	if s.MaxItems != nil {
		list("maxItems", true, resize(int(*s.MaxItems)+1))
		list("maxItems bound", false, resize(int(*s.MaxItems)))
	}
	if s.XListType != nil && *s.XListType != "atomic" {
		list("duplicate", true, func(items []any) []any { return append(items, copyJSON(items[0])) })
	}
	item := s.Items.Schema
	if item.Type == "object" {
		return append(out, constraints(t, item, append(slices.Clone(path), "[*]"))...)
	}
	if item.MaxLength != nil {
		list("item maxLength", true, func(items []any) []any {
			return append(items, strings.Repeat("a", int(*item.MaxLength)+1))
		})
	}
	return out
}

// vary makes the i-th of many items that differ in what makes them unique.
func vary(item any, i int) any {
	switch item := copyJSON(item).(type) {
	case map[string]any:
		if _, ok := item["name"]; ok {
			item["name"] = fmt.Sprintf("%v-%d", item["name"], i)
		}
		if _, ok := item["port"]; ok {
			item["port"] = int64(1000 + i)
		}
		return item
	default:
		return fmt.Sprintf("192.0.2.%d", i)
	}
}

func manyKeys(n int) map[string]any {
	out := make(map[string]any, n)
	for i := range n {
		out[fmt.Sprintf("k%d", i)] = "v"
	}
	return out
}

func copyJSON(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for k, v := range value {
			out[k] = copyJSON(v)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = copyJSON(value[i])
		}
		return out
	}
	return value
}

// celMessages are the messages of all CEL rules of the schema.
func celMessages(s *apiextensionsv1.JSONSchemaProps, into map[string]bool) {
	for _, rule := range s.XValidations {
		into[rule.Message] = true
	}
	for _, property := range s.Properties {
		celMessages(&property, into)
	}
	if s.Items != nil {
		celMessages(s.Items.Schema, into)
	}
}
