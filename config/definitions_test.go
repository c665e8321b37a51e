// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// kubectl, Helm and Argo CD compare an item of a list with what was applied as a whole: a default that
// the API server writes there shows as drift for as long as the object lives.
func TestDefinitionsHaveNoDefaultInListItems(t *testing.T) {
	for name, version := range versions(t) {
		nodes := 0
		walk(*version.Schema.OpenAPIV3Schema, "", false, func(path string, inItem bool, s *apiextensionsv1.JSONSchemaProps) {
			nodes++
			if inItem && s.Default != nil {
				t.Errorf("%s%s: default %s in a list item", name, path, s.Default.Raw)
			}
		})
		if nodes < 20 {
			t.Errorf("%s: only %d fields were looked at", name, nodes)
		}
	}
}

// What a field means has to be in `kubectl explain`. Only a pod template, which Kubernetes explains, goes without, and a version
// that is deprecated.
func TestEveryFieldIsExplained(t *testing.T) {
	for name, version := range versions(t) {
		if version.Deprecated {
			continue
		}
		explained := 0
		walk(*version.Schema.OpenAPIV3Schema, "", false, func(path string, _ bool, s *apiextensionsv1.JSONSchemaProps) {
			_, field, _ := strings.Cut(path, ".")
			switch {
			case field == "metadata", strings.Contains(path, ".template."), strings.HasSuffix(path, "[]"), strings.HasSuffix(path, "{}"):
			case s.Description == "":
				t.Errorf("%s%s has no description", name, path)
			default:
				explained++
			}
		})
		if explained < 10 {
			t.Errorf("%s: only %d fields are explained", name, explained)
		}
	}
}

func TestEachVersionShowsWhetherAnObjectIsReady(t *testing.T) {
	for name, version := range versions(t) {
		if !slices.ContainsFunc(version.AdditionalPrinterColumns, func(c apiextensionsv1.CustomResourceColumnDefinition) bool {
			return c.Name == "Ready" && c.Priority == 0 && c.JSONPath == `.status.conditions[?(@.type=="Ready")].status`
		}) {
			t.Errorf("kubectl get of %s has no column READY", name)
		}
	}
}

// versions returns the versions of the CRDs, by kind and version such as "ChaosPod v1".
func versions(t *testing.T) map[string]apiextensionsv1.CustomResourceDefinitionVersion {
	t.Helper()
	all := map[string]apiextensionsv1.CustomResourceDefinitionVersion{}
	for _, file := range definitions(t) {
		var definition apiextensionsv1.CustomResourceDefinition
		read(t, file, &definition)
		for _, version := range definition.Spec.Versions {
			all[definition.Spec.Names.Kind+" "+version.Name] = version
		}
	}
	return all
}

// kubectl keeps what it applies in an annotation, as JSON with escaped angle brackets. An object's
// annotations take 256 KiB together at most, and other tools want some of that.
func TestDefinitionsFitIntoTheAnnotationOfClientSideApply(t *testing.T) {
	const most = 192 << 10
	for _, file := range definitions(t) {
		var definition map[string]any
		read(t, file, &definition)
		applied, err := json.Marshal(definition)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s takes %d bytes", file, len(applied))
		if len(applied) > most {
			t.Errorf("%s takes %d bytes, want at most %d", file, len(applied), most)
		}
	}
}

// walk visits a schema and everything below it.
func walk(s apiextensionsv1.JSONSchemaProps, path string, inItem bool, visit func(path string, inItem bool, s *apiextensionsv1.JSONSchemaProps)) {
	visit(path, inItem, &s)
	for name, child := range s.Properties {
		walk(child, path+"."+name, inItem, visit)
	}
	if s.Items != nil && s.Items.Schema != nil {
		walk(*s.Items.Schema, path+"[]", true, visit)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		walk(*s.AdditionalProperties.Schema, path+"{}", inItem, visit)
	}
}
