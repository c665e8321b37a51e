// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rulestest

import (
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/config/crd"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
)

// Definition returns the CRD of a kind, compiled.
func Definition(t testing.TB, group, resource string) *crdschema.Kind {
	t.Helper()
	text, err := crd.Definition(group, resource)
	if err != nil {
		t.Fatal(err)
	}
	kind, err := crdschema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return kind
}

// Objects reads all documents of a YAML file, as the API server reads them.
func Objects(t testing.TB, file string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(file) //nolint:gosec // a file of the tests
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, document := range strings.Split(string(text), "\n---\n") {
		out = append(out, Object(t, document))
	}
	return out
}

// Object reads YAML as the API server reads it.
func Object(t testing.TB, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := json.Unmarshal(raw, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// Typed reads JSON data into a Go type.
func Typed[T any](t testing.TB, obj map[string]any) *T {
	t.Helper()
	out := new(T)
	raw, err := json.Marshal(obj)
	if err == nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out
}

// Untyped returns a value of a Go type as JSON data.
func Untyped(t testing.TB, value any) map[string]any {
	t.Helper()
	var out map[string]any
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Put returns a copy of an object with another value at a path, such as spec.targets.0.name. With nil, it removes the
// value.
func Put(t testing.TB, obj map[string]any, path string, value any) map[string]any {
	t.Helper()
	out := runtime.DeepCopyJSON(obj)
	steps := strings.Split(path, ".")
	var at any = out
	for i, step := range steps {
		isLast := i == len(steps)-1
		switch parent := at.(type) {
		case map[string]any:
			switch {
			case isLast && value == nil:
				delete(parent, step)
			case isLast:
				parent[step] = value
			case parent[step] == nil:
				parent[step] = map[string]any{}
			}
			at = parent[step]
		case []any:
			index, err := strconv.Atoi(step)
			if err != nil || index >= len(parent) || isLast {
				t.Fatalf("%s: no item %s", path, step)
			}
			at = parent[index]
		default:
			t.Fatalf("%s: nothing has %s", path, step)
		}
	}
	return out
}

var (
	isSpan = regexp.MustCompile(`^[0-9]+(ms|s|m|h)$`)
	spans  = []string{"1ms", "500ms", "1s", "1999ms", "5s", "10001ms", "1m", "10m", "61m", "24h", "100h"}
)

// Vary returns a copy of an object without some fields of its spec, and with other durations. It may be invalid.
func Vary(random *rand.Rand, obj map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(obj)
	oneIn := 3 + random.IntN(30)
	if spec, ok := out["spec"].(map[string]any); ok {
		vary(random, oneIn, spec)
	}
	return out
}

func vary(random *rand.Rand, oneIn int, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) { // sorted, so that a seed always makes the same object
			text, _ := value[key].(string)
			switch {
			case random.IntN(oneIn) == 0:
				delete(value, key)
			case isSpan.MatchString(text) && random.IntN(oneIn) < 2:
				value[key] = spans[random.IntN(len(spans))]
			default:
				vary(random, oneIn, value[key])
			}
		}
	case []any:
		for _, item := range value {
			vary(random, oneIn, item)
		}
	}
}
