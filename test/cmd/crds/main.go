// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crds removes descriptions that another schema has from the CRDs that controller-gen generates: those of a deprecated
// version, which `kubectl explain` shows at the stored one, and those in the template of a ClusterRebootPolicy, which it shows
// of a RebootPolicy.
//
// Usage, in the folder test:
//
//	go run ./cmd/crds ../config/crd/bases/*.yaml
package main

import (
	"fmt"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: crds FILE...")
		os.Exit(2)
	}
	for _, file := range os.Args[1:] {
		if err := rewrite(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
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

// reduced returns a smaller CRD, in the format of controller-gen.
func reduced(content []byte) ([]byte, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(content, &definition); err != nil {
		return nil, err
	}
	for _, version := range definition.Spec.Versions {
		schema := version.Schema.OpenAPIV3Schema
		switch {
		case version.Deprecated:
			below(schema, undescribe)
		case definition.Spec.Names.Kind == "ClusterRebootPolicy":
			policy := schema.Properties["spec"].Properties["template"].Properties["spec"]
			below(&policy, undescribe)
		}
	}
	// The status is the API server's.
	written, err := yaml.Marshal(struct {
		apiextensionsv1.CustomResourceDefinition `json:",inline"`
		Status                                   any `json:"status,omitempty"`
	}{CustomResourceDefinition: definition})
	return append([]byte("---\n"), written...), err
}

// undescribe removes the descriptions of a field and of what is in it.
func undescribe(field *apiextensionsv1.JSONSchemaProps) {
	field.Description = ""
	below(field, undescribe)
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
