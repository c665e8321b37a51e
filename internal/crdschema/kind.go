// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package crdschema

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// Kind is one compiled CRD. It is safe for concurrent use.
type Kind struct {
	groupKind schema.GroupKind
	names     []string
	versions  map[string]*version
}

// version is one served or unserved version of the kind.
type version struct {
	structural *structuralschema.Structural
	openAPI    validation.SchemaValidator
	cel        *cel.Validator // nil where the schema has no CEL rule
}

// Parse parses and compiles one CRD in YAML or JSON. It fails where the API server would refuse to create the
// CRD: an unknown field, a schema that is not structural, a default that its own schema refuses, a CEL rule
// that does not compile or whose estimated cost exceeds the limits of the server.
func Parse(crdYAML []byte) (*Kind, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(crdYAML, &crd); err != nil {
		return nil, fmt.Errorf("read CustomResourceDefinition: %w", err)
	}
	if crd.Kind != "CustomResourceDefinition" || crd.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
		return nil, fmt.Errorf("read CustomResourceDefinition: got %s %s, give a CustomResourceDefinition of %s",
			crd.APIVersion, crd.Kind, apiextensionsv1.SchemeGroupVersion)
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&crd)

	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&crd, &internal, nil); err != nil {
		return nil, fmt.Errorf("customresourcedefinition %s: %w", crd.Name, err)
	}
	if errs := apiextensionsvalidation.ValidateCustomResourceDefinition(context.Background(), &internal); len(errs) > 0 {
		return nil, fmt.Errorf("customresourcedefinition %s: %w", crd.Name, errs.ToAggregate())
	}

	kind := &Kind{
		groupKind: schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind},
		versions:  make(map[string]*version, len(internal.Spec.Versions)),
	}
	for i := range internal.Spec.Versions {
		name := internal.Spec.Versions[i].Name
		schema, err := apiextensions.GetSchemaForVersion(&internal, name)
		if err != nil {
			return nil, fmt.Errorf("customresourcedefinition %s: version %s: %w", crd.Name, name, err)
		}
		compiled, err := compile(schema)
		if err != nil {
			return nil, fmt.Errorf("customresourcedefinition %s: version %s: %w", crd.Name, name, err)
		}
		kind.names = append(kind.names, name)
		kind.versions[name] = compiled
	}
	return kind, nil
}

func compile(custom *apiextensions.CustomResourceValidation) (*version, error) {
	structural, err := structuralschema.NewStructural(custom.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	if err := defaulting.PruneDefaults(structural); err != nil {
		return nil, err
	}
	openAPI, _, err := validation.NewSchemaValidator(custom.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	return &version{
		structural: structural,
		openAPI:    openAPI,
		cel:        cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}

// Versions lists the versions in the order of the CRD.
func (k *Kind) Versions() []string { return append([]string(nil), k.names...) }
