// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/config/crd"
)

// hub is the version that is stored, at which all policies look.
const hub = "v1"

// Kind is one of Fairlead's kinds, as its CRD has it.
type Kind struct {
	Group, Name, Resource string
	schema                *apiextensionsv1.JSONSchemaProps
}

// Kinds are all that have a CRD.
func Kinds() ([]Kind, error) {
	var kinds []Kind
	for _, name := range [][2]string{
		{"autoreboot.fairlead.dev", "rebootpolicies"}, {"chaos.fairlead.dev", "chaospods"}, {"networking.fairlead.dev", "externalservices"},
	} {
		data, err := crd.Definition(name[0], name[1])
		if err != nil {
			return nil, err
		}
		kind, err := newKind(data)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

func newKind(definition []byte) (Kind, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(definition, &crd); err != nil {
		return Kind{}, fmt.Errorf("read a CustomResourceDefinition: %w", err)
	}
	for _, version := range crd.Spec.Versions {
		if version.Name == hub && version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
			return Kind{crd.Spec.Group, crd.Spec.Names.Kind, crd.Spec.Names.Plural, version.Schema.OpenAPIV3Schema}, nil
		}
	}
	return Kind{}, fmt.Errorf("customresourcedefinition %s: has no schema of version %s", crd.Name, hub)
}
