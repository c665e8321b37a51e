// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"bytes"
	"context"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
)

const crdFile = "../../../config/crd/bases/chaos.fairlead.dev_chaospods.yaml"

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

func typed(t testing.TB, obj map[string]any) *chaosv1.ChaosPod {
	t.Helper()
	var out chaosv1.ChaosPod
	data, err := json.Marshal(obj)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &out
}

// verdicts asks the CRD and its twin about the same object, as the API server would: with the
// schema's defaults filled in and unknown fields dropped.
func verdicts(t testing.TB, kind *crdschema.Kind, obj, old map[string]any) (ofCRD, ofTwin field.ErrorList) {
	t.Helper()
	obj = runtime.DeepCopyJSON(obj)
	kind.Default("v1", obj)
	kind.Prune("v1", obj)
	var stored *chaosv1.ChaosPod
	if old != nil {
		stored = typed(t, old)
	}
	return kind.Validate(context.Background(), "v1", obj, old), Structural(typed(t, obj), stored)
}
