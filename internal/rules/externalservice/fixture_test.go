// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

const group, resource = "networking.fairlead.dev", "externalservices"

func typed(t testing.TB, obj map[string]any) *v1.ExternalService {
	t.Helper()
	return validationtest.Typed[v1.ExternalService](t, obj)
}

// decodes is typed for data that may not fit the Go type.
func decodes(obj map[string]any) (*v1.ExternalService, bool) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, false
	}
	var out v1.ExternalService
	return &out, json.Unmarshal(data, &out) == nil
}

// bySchema is the CRD's verdict: the texts of its errors, none where it accepts.
func bySchema(kind *crdschema.Kind, obj map[string]any) []string {
	defaulted := runtime.DeepCopyJSON(obj)
	kind.Default("v1", defaulted)
	var out []string
	for _, err := range kind.Validate(context.Background(), "v1", defaulted, nil) {
		out = append(out, err.Error())
	}
	return out
}

// agree demands the same verdict of the CRD and of Structural, and returns it.
func agree(t *testing.T, kind *crdschema.Kind, what string, obj map[string]any) (schemaErrs []string) {
	t.Helper()
	schemaErrs = bySchema(kind, obj)
	goErrs := Structural(typed(t, obj), nil)
	if (len(schemaErrs) == 0) != (len(goErrs) == 0) {
		data, _ := json.Marshal(obj)
		t.Errorf("%s: the CRD says %q, Structural says %v, of %s", what, schemaErrs, goErrs, data)
	}
	return schemaErrs
}

// at walks to a place such as spec.ports[*].name, through the first item of lists, and returns
// its parent and last step; ok is false where the object has no such parent.
func at(obj map[string]any, path []string) (parent map[string]any, last string, ok bool) {
	var node any = obj
	for _, step := range path[:len(path)-1] {
		switch n := node.(type) {
		case map[string]any:
			node = n[step]
		case []any:
			if step != "[*]" || len(n) == 0 {
				return nil, "", false
			}
			node = n[0]
		default:
			return nil, "", false
		}
	}
	parent, ok = node.(map[string]any)
	return parent, path[len(path)-1], ok
}

func pathString(path []string) string {
	return strings.ReplaceAll(strings.Join(path, "."), ".[*]", "[*]")
}
