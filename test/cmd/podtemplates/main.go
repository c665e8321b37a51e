// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command podtemplates rewrites the pod templates in a CRD that controller-gen has generated. It removes
//
//   - descriptions, which `kubectl explain pod` has, and with which the CRD would be three times as large,
//   - defaults, which the API server would write into list items, where tools that compare them with what was applied
//     report a drift,
//   - keys of lists that had a default, since the API server demands a default or a required field. Such a list is
//     atomic.
//
// Usage, in the folder test:
//
//	go run ./cmd/podtemplates ../config/crd/bases/chaos.fairlead.dev_chaospods.yaml
package main

import (
	"fmt"
	"os"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: podtemplates FILE")
		os.Exit(2)
	}
	if err := rewrite(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func rewrite(file string) error {
	content, err := os.ReadFile(file) //nolint:gosec // the CRD that the Makefile names
	if err != nil {
		return err
	}
	if content, err = reduced(content); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, content, 0o600) //nolint:gosec // as above
}

// reduced returns a CRD with its pod templates rewritten, in the format of controller-gen.
func reduced(content []byte) ([]byte, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(content, &definition); err != nil {
		return nil, err
	}
	templates := 0
	for _, version := range definition.Spec.Versions {
		templates += reduceIn(version.Schema.OpenAPIV3Schema)
	}
	if templates == 0 {
		return nil, fmt.Errorf("%s has no pod template", definition.Name)
	}
	// The status is the API server's.
	written, err := yaml.Marshal(struct {
		apiextensionsv1.CustomResourceDefinition `json:",inline"`
		Status                                   any `json:"status,omitempty"`
	}{CustomResourceDefinition: definition})
	return append([]byte("---\n"), written...), err
}

// reduceIn rewrites the pod templates in a schema and returns their number.
func reduceIn(schema *apiextensionsv1.JSONSchemaProps) (templates int) {
	if schema.Properties["spec"].Properties["containers"].Type == "array" {
		below(schema, reduce)
		return 1
	}
	below(schema, func(child *apiextensionsv1.JSONSchemaProps) { templates += reduceIn(child) })
	return templates
}

// reduce rewrites the schema of a field of a pod template.
func reduce(field *apiextensionsv1.JSONSchemaProps) {
	field.Description, field.Default = "", nil
	if slices.ContainsFunc(field.XListMapKeys, func(key string) bool { return !slices.Contains(field.Items.Schema.Required, key) }) {
		field.XListMapKeys, field.XListType = nil, new("atomic")
	}
	below(field, reduce)
}

// below calls visit with each schema directly below one.
func below(schema *apiextensionsv1.JSONSchemaProps, visit func(*apiextensionsv1.JSONSchemaProps)) {
	for name, child := range schema.Properties {
		visit(&child)
		schema.Properties[name] = child
	}
	if schema.Items != nil {
		visit(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		visit(schema.AdditionalProperties.Schema)
	}
}
