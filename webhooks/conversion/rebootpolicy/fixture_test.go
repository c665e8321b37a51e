// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
)

type object = map[string]any

// load reads a YAML file as JSON.
func load(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		data, err = yaml.YAMLToJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func convert(t testing.TB, raw []byte, version string) []byte {
	t.Helper()
	out, err := New().Convert(raw, version)
	if err != nil {
		t.Fatalf("to %s: %v\n%s", version, err, raw)
	}
	return out
}

func tree(t testing.TB, raw []byte) object {
	t.Helper()
	var out object
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func bytesOf(t testing.TB, obj object) []byte {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func same(t testing.TB, what string, got, want []byte) {
	t.Helper()
	a, b := tree(t, want), tree(t, got)
	if !reflect.DeepEqual(a, b) { // cmp takes ten times as long where nothing differs
		t.Errorf("%s (-want +got)\n%s", what, cmp.Diff(a, b))
	}
}

// annotated reports whether an object carries either restore annotation.
func annotated(t testing.TB, raw []byte) bool {
	t.Helper()
	metadata, _ := tree(t, raw)["metadata"].(object)
	annotations, _ := metadata["annotations"].(object)
	return annotations[common.ConversionDataAnnotation] != nil || annotations[common.V1Alpha1DataAnnotation] != nil
}

// edit sets the value at a path such as "spec.policies.0.name"; nil takes it away, and in a list
// the item with it.
func edit(t testing.TB, raw []byte, path string, value any) []byte {
	t.Helper()
	root := tree(t, raw)
	edited, ok := set(root, strings.Split(path, "."), value).(object)
	if !ok {
		t.Fatalf("cannot edit %s of %s", path, raw)
	}
	return bytesOf(t, edited)
}

func set(at any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	switch container := at.(type) {
	case object:
		if container[path[0]] = set(container[path[0]], path[1:], value); container[path[0]] == nil {
			delete(container, path[0])
		}
	case []any:
		i := slices.Index([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, path[0])
		if i == len(container) {
			return append(container, set(nil, path[1:], value))
		}
		if container[i] = set(container[i], path[1:], value); container[i] == nil {
			return slices.Delete(container, i, i+1)
		}
	default:
		return set(object{}, path, value)
	}
	return at
}

// at returns the value at a path as edit takes it.
func at(t testing.TB, raw []byte, path string) any {
	t.Helper()
	var value any = tree(t, raw)
	for _, step := range strings.Split(path, ".") {
		switch container := value.(type) {
		case object:
			value = container[step]
		case []any:
			i := slices.Index([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, step)
			if i >= len(container) {
				return nil
			}
			value = container[i]
		default:
			return nil
		}
	}
	return value
}

// admitted reports what the CRD has against an object.
func admitted(t testing.TB, raw []byte, version string) {
	t.Helper()
	crd, err := os.ReadFile("../../../config/crd/bases/autoreboot.fairlead.dev_rebootpolicies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kind, err := crdschema.Parse(crd)
	if err != nil {
		t.Fatal(err)
	}
	obj := tree(t, raw)
	if pruned := kind.Prune(version, obj); len(pruned) > 0 {
		t.Errorf("%s does not know %v", version, pruned)
	}
	if errs := kind.Validate(context.Background(), version, obj, nil); len(errs) > 0 {
		t.Errorf("%s refuses %s: %v", version, raw, errs)
	}
}
