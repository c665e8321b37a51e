// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

func TestSamplesPassTheCRDAndTheRules(t *testing.T) {
	crd, err := os.ReadFile("../../../config/crd/bases/networking.fairlead.dev_externalservices.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kind, err := crdschema.Parse(crd)
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]string{
		"../../../config/samples/networking_v1_externalservice.yaml":       "v1",
		"../../../config/samples/networking_v1alpha1_externalservice.yaml": "v1alpha1",
		"testdata/full.v1.yaml":        "v1",
		"testdata/plain.v1.yaml":       "v1",
		"testdata/bare.v1.yaml":        "v1",
		"testdata/full.v1alpha1.yaml":  "v1alpha1",
		"testdata/plain.v1alpha1.yaml": "v1alpha1",
		"testdata/bare.v1alpha1.yaml":  "v1alpha1",
	}
	for file, version := range samples {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := yaml.YAMLToJSON(data)
			if err != nil {
				t.Fatal(err)
			}
			var obj map[string]any
			if err := json.Unmarshal(raw, &obj); err != nil {
				t.Fatal(err)
			}
			if dropped := kind.Prune(version, obj); len(dropped) > 0 {
				t.Errorf("the CRD does not know %v", dropped)
			}
			kind.Default(version, obj)
			if errs := kind.Validate(context.Background(), version, obj, nil); len(errs) > 0 {
				t.Errorf("the CRD refuses it: %v", errs)
			}
			var hubForm v1.ExternalService
			if err := json.Unmarshal(convert(t, raw, "v1"), &hubForm); err != nil {
				t.Fatal(err)
			}
			rules.Default(&hubForm)
			if errs := rules.Validate(&hubForm, nil); len(errs) > 0 {
				t.Errorf("the rules refuse it: %v", errs)
			}
			if warnings := rules.Warnings(&hubForm, nil); len(warnings) > 0 {
				t.Errorf("warnings: %v", warnings)
			}
		})
	}
}
