// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// schemas are JSON Schemas for editors, by the name of their file, which is how kubeconform names them:
// externalservice_v1.json. They know fields, types, enumerations and patterns; CEL rules and defaults they do
// not know. A field that does not exist is wrong, which the API server would drop.
func schemas(crds string) (map[string][]byte, error) {
	files, err := filepath.Glob(filepath.Join(crds, "*.yaml"))
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd apiextensions.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(content, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, v := range crd.Spec.Versions {
			raw, err := json.Marshal(v.Schema.OpenAPIV3Schema)
			if err != nil {
				return nil, err
			}
			var schema map[string]any
			if err := json.Unmarshal(raw, &schema); err != nil {
				return nil, err
			}
			convert(schema)
			properties, ok := schema["properties"].(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s: version %s has no properties", file, v.Name)
			}
			properties["apiVersion"] = map[string]any{"const": crd.Spec.Group + "/" + v.Name}
			properties["kind"] = map[string]any{"const": crd.Spec.Names.Kind}
			properties["metadata"] = map[string]any{"type": "object"}
			schema["required"] = []string{"apiVersion", "kind", "metadata", "spec"}
			schema["$schema"] = "http://json-schema.org/draft-07/schema#"
			schema["title"] = fmt.Sprintf("%s %s/%s", crd.Spec.Names.Kind, crd.Spec.Group, v.Name)
			text, err := json.MarshalIndent(schema, "", " ")
			if err != nil {
				return nil, err
			}
			all[strings.ToLower(crd.Spec.Names.Kind)+"_"+v.Name+".json"] = append(text, '\n')
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no CustomResourceDefinition", crds)
	}
	return all, nil
}

// convert makes of a structural schema, and of those in it, what it means in JSON Schema.
func convert(schema map[string]any) {
	for _, list := range []string{"allOf", "anyOf", "oneOf"} {
		of, _ := schema[list].([]any)
		for _, s := range of { // these refine, and name no new fields
			if s, ok := s.(map[string]any); ok {
				refine(s)
			}
		}
	}
	if s, ok := schema["items"].(map[string]any); ok {
		convert(s)
	}
	open := schema["x-kubernetes-preserve-unknown-fields"] == true || schema["x-kubernetes-embedded-resource"] == true
	if s, ok := schema["additionalProperties"].(map[string]any); ok {
		convert(s)
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		for _, s := range properties {
			if s, ok := s.(map[string]any); ok {
				convert(s)
			}
		}
		if _, given := schema["additionalProperties"]; !given && !open {
			schema["additionalProperties"] = false
		}
	}
	if schema["x-kubernetes-int-or-string"] == true {
		schema["type"] = []string{"integer", "string"}
	}
	if kind, ok := schema["type"].(string); ok && schema["nullable"] == true {
		schema["type"] = []string{kind, "null"}
	}
	refine(schema)
}

// refine takes away what JSON Schema does not know.
func refine(schema map[string]any) {
	for name := range schema {
		if name == "nullable" || strings.HasPrefix(name, "x-kubernetes-") {
			delete(schema, name)
		}
	}
}
