// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"bytes"
	"context"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
)

const crdFile = "../../../config/crd/bases/autoreboot.fairlead.dev_rebootpolicies.yaml"

// crd is the kind as the API server judges it.
func crd(t testing.TB) *crdschema.Kind {
	t.Helper()
	kind, err := crdschema.Parse(read(t, crdFile))
	if err != nil {
		t.Fatal(err)
	}
	return kind
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// objects reads all documents of a YAML file.
func objects(t testing.TB, file string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, document := range bytes.Split(read(t, file), []byte("\n---\n")) {
		out = append(out, parse(t, document))
	}
	return out
}

func parse(t testing.TB, document []byte) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON(document)
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := json.Unmarshal(data, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func typed(t testing.TB, obj map[string]any) *autorebootv1.RebootPolicy {
	t.Helper()
	var out autorebootv1.RebootPolicy
	data, err := json.Marshal(obj)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &out
}

func raw(t testing.TB, obj *autorebootv1.RebootPolicy) map[string]any {
	t.Helper()
	var out map[string]any
	data, err := json.Marshal(obj)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// full is an object that sets every kind of trigger and every block, and breaks no rule.
func full(t testing.TB) *autorebootv1.RebootPolicy {
	t.Helper()
	return typed(t, objects(t, "testdata/good.yaml")[0])
}

// verdicts asks the CRD and its twin about the same object. Both see what the typed object says,
// since that is all that admission sees of it.
func verdicts(t testing.TB, kind *crdschema.Kind, obj *autorebootv1.RebootPolicy) (ofCRD, ofTwin field.ErrorList) {
	t.Helper()
	tree := raw(t, obj)
	kind.Default("v1", tree)
	kind.Prune("v1", tree)
	return kind.Validate(context.Background(), "v1", tree, nil), Structural(obj, nil)
}
