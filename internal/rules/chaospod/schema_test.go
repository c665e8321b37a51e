// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/internal/rules"
	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

// constraint is one limit of the schema, with a value beyond it and values just within it.
type constraint struct {
	path, keyword string
	beyond        any
	within        []any
}

// emptyIsAbsent are optional texts, which our types write as absent where they are empty.
var emptyIsAbsent = map[string]bool{"spec.schedule.cron": true, "spec.schedule.timeZone": true, "spec.windows.0.timeZone": true,
	"spec.blackouts.0.timeZone": true, "spec.serviceAccountName": true, "spec.target.workload.group": true,
	"spec.verification.probes.0.grpc.service": true, "spec.verification.probes.0.grpc.authority": true, "spec.verification.probes.0.httpGet.host": true,
	"spec.verification.probes.0.tls.serverName": true, "spec.verification.probes.0.tls.caSecretName": true}

// emptyIsWritten are required texts, which our types write also where they are absent.
var emptyIsWritten = map[string]bool{"spec.verification.probes.0.httpGet.httpHeaders.0.value": true}

// walk visits every node of the spec's schema. It leaves out the status, which no admission sees,
// and the inside of target.template: that is the schema of a pod, which the API server holds, and
// which Structural leaves alone except for its presence.
func walk(path string, node map[string]any, visit func(path string, node map[string]any)) {
	if path == "status" || path == "spec.target.template" || path == "metadata" {
		return
	}
	visit(path, node)
	properties, _ := node["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		walk(strings.TrimPrefix(path+"."+name, "."), properties[name].(map[string]any), visit)
	}
	if items, ok := node["items"].(map[string]any); ok {
		walk(path+".0", items, visit)
	}
	if values, ok := node["additionalProperties"].(map[string]any); ok {
		walk(path+".*", values, visit)
	}
}

// constraints lists every limit of the schema that a Go value of our types can break. A wrong
// JSON type or format is none: it does not decode.
func constraints(t testing.TB) []constraint {
	t.Helper()
	var out []constraint
	walk("", validationtest.Schema(t, group, resource, "v1"), func(path string, node map[string]any) {
		add := func(keyword string, beyond any, within ...any) {
			out = append(out, constraint{path, keyword, beyond, within})
		}
		number := func(keyword string) (int64, bool) {
			n, ok := node[keyword].(int64)
			return n, ok
		}
		if n, ok := number("maxLength"); ok {
			add("maxLength", text(int(n)+1), fill(node, int(n)), strings.Repeat("ä", int(n)))
		}
		if n, ok := number("minLength"); ok && !emptyIsAbsent[path] {
			add("minLength", text(int(n)-1), text(int(n)))
		}
		if n, ok := number("minimum"); ok {
			add("minimum", n-1, n)
		}
		if n, ok := number("maximum"); ok {
			add("maximum", n+1, n)
		}
		if n, ok := number("maxItems"); ok {
			add("maxItems", int(n)+1, int(n))
		}
		if n, ok := number("maxProperties"); ok {
			add("maxProperties", int(n)+1, int(n))
		}
		if spans(node) {
			add("notation", "10 minutes", "1h2m3.5s4ms")
			add("notation", "-5m")
		}
		if values, ok := node["enum"].([]any); ok {
			add("enum", "Other", values...)
		}
		required, _ := node["required"].([]any)
		for _, name := range required {
			if emptyIsWritten[path+"."+name.(string)] {
				continue
			}
			out = append(out, constraint{strings.TrimPrefix(path+"."+name.(string), "."), "required", nil, nil})
		}
	})
	return out
}

// spans reports whether a schema node is a duration.
func spans(node map[string]any) bool {
	validations, _ := node["x-kubernetes-validations"].([]any)
	return slices.ContainsFunc(validations, func(v any) bool {
		validation, _ := v.(map[string]any)
		return validation["message"] == rules.DurationMessage
	})
}

// fill makes a text of n characters that a duration field accepts as well, where it is one.
func fill(node map[string]any, n int) string {
	if spans(node) {
		return strings.Repeat("0", n-3) + "20m"
	}
	return text(n)
}

// place returns a copy of the object with the value at a path, or without it where value is nil.
// A number of items grows the list or map to that size by copies of its first entry.
func place(t testing.TB, obj map[string]any, path string, value any) map[string]any {
	t.Helper()
	out := runtime.DeepCopyJSON(obj)
	keys := strings.Split(path, ".")
	var at any = out
	for _, key := range keys[:len(keys)-1] {
		if list, ok := at.([]any); ok {
			index, err := strconv.Atoi(key)
			if err != nil || index >= len(list) {
				t.Fatalf("%s: no item %s", path, key)
			}
			at = list[index]
			continue
		}
		parent := at.(map[string]any)
		if parent[key] == nil {
			parent[key] = map[string]any{}
		}
		at = parent[key]
	}
	last := keys[len(keys)-1]
	switch parent := at.(type) {
	case []any:
		parent[0] = value
	case map[string]any:
		if last == "*" {
			last = slices.Sorted(maps.Keys(parent))[0]
		}
		if n, sized := value.(int); sized {
			value = grow(parent[last], n)
		}
		if parent[last] = value; value == nil {
			delete(parent, last)
		}
	}
	return out
}

func grow(collection any, n int) any {
	if list, ok := collection.([]any); ok {
		out := make([]any, n)
		for i := range out {
			out[i] = runtime.DeepCopyJSONValue(list[0])
		}
		return out
	}
	out := map[string]any{}
	for i := range n {
		out[fmt.Sprintf("key-%d", i)] = "value"
	}
	return out
}

// has reports whether the object holds something at a path.
func has(obj map[string]any, path string) bool {
	var at any = obj
	for _, key := range strings.Split(path, ".") {
		switch parent := at.(type) {
		case []any:
			if len(parent) == 0 {
				return false
			}
			at = parent[0]
		case map[string]any:
			if key == "*" && len(parent) > 0 {
				key = slices.Sorted(maps.Keys(parent))[0]
			}
			if at = parent[key]; at == nil {
				return false
			}
		default:
			return false
		}
	}
	return true
}
