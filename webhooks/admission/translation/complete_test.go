// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/config/crd"
	"github.com/fairlead-dev/fairlead/webhooks/admission/translation"
)

// definition returns the schemas of a kind by version.
func definition(t *testing.T, kind string) map[string]*apiextensionsv1.JSONSchemaProps {
	t.Helper()
	at := map[string][2]string{
		"ExternalService": {"networking.fairlead.dev", "externalservices"},
		"RebootPolicy":    {"autoreboot.fairlead.dev", "rebootpolicies"},
		"ChaosPod":        {"chaos.fairlead.dev", "chaospods"},
	}[kind]
	raw, err := crd.Definition(at[0], at[1])
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &definition); err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, version := range definition.Spec.Versions {
		schemas[version.Name] = version.Schema.OpenAPIV3Schema
	}
	return schemas
}

// paths returns the paths of all fields below one. Lists have one item, and maps one key, which has a
// dot in it.
func paths(schema *apiextensionsv1.JSONSchemaProps, at string) []string {
	all := []string{at}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		below := schema.Properties[name]
		all = append(all, paths(&below, at+"."+name)...)
	}
	if schema.Items != nil {
		all = append(all, paths(schema.Items.Schema, at+"[0]")...)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		all = append(all, at+"[example.com/key]")
	}
	return all
}

// exists reports whether a schema has a path.
func exists(schema *apiextensionsv1.JSONSchemaProps, path string) bool {
	if path == "" {
		return true
	}
	inside, item := strings.CutPrefix(path, "[")
	switch {
	case item && schema.Items != nil:
		_, rest, _ := strings.Cut(inside, "]")
		return exists(schema.Items.Schema, rest)
	case item:
		_, rest, _ := strings.Cut(inside, "]")
		return schema.AdditionalProperties != nil && exists(schema.AdditionalProperties.Schema, rest)
	}
	path = strings.TrimPrefix(path, ".")
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	below, has := schema.Properties[path[:end]]
	if !has && schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		below, has = *schema.AdditionalProperties.Schema, true
	}
	return has && exists(&below, path[end:])
}

// objects are v1 objects, one for each form that a kind's fields may be shown in.
func objects(t *testing.T, kind string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{"empty": nil}
	for name, spec := range map[string]map[string]string{
		"ExternalService": {
			"tcp":  "{ports: [{name: a, port: 1}], endpoints: [{name: x, dns: {name: a.example.com}, addresses: [192.0.2.1]}], healthCheck: {tcpSocket: {}}, resolution: {minTTL: 1s, maxTTL: 1s}}",
			"http": "{ports: [{name: a, port: 1}], endpoints: [{name: x, addresses: [192.0.2.1]}], healthCheck: {httpGet: {}}, resolution: {minTTL: 1s, maxTTL: 2s}}",
			"grpc": "{ports: [{name: a, port: 1}], endpoints: [{name: x, dns: {name: a.example.com}}], healthCheck: {grpc: {}}}",
			"none": "{ports: [{port: 1}], endpoints: [{name: x}], healthCheck: {}}",
		},
		"RebootPolicy": {
			"tcpSocket": "{targets: [{kind: Deployment, name: web}], triggers: [{name: a, type: Probe, probe: {tcpSocket: {}}}]}",
			"httpGet":   "{targets: [{kind: Deployment, name: web}], triggers: [{name: a, type: Probe, probe: {httpGet: {}}}]}",
			"grpc":      "{targets: [{kind: Deployment, name: web}], triggers: [{name: a, type: Probe, probe: {grpc: {}}}]}",
			"other":     "{targets: [{kind: Deployment, name: web}], triggers: [{name: a, type: Schedule}]}",
		},
		"ChaosPod": {
			"template": "{target: {template: {}}}",
			"workload": "{target: {workload: {}}}",
		},
	}[kind] {
		var data map[string]any
		if err := yaml.Unmarshal([]byte("spec: "+spec), &data); err != nil {
			t.Fatal(err)
		}
		all[name] = data
	}
	return all
}

func TestEveryFieldOfV1HasAPathAtV1alpha1AndEveryPathIsReached(t *testing.T) {
	for _, kind := range []string{"ExternalService", "RebootPolicy", "ChaosPod"} {
		schemas := definition(t, kind)
		spec := schemas["v1"].Properties["spec"]
		reached := map[string]bool{}
		for form, stored := range objects(t, kind) {
			o := translation.New(kind, stored)
			for _, path := range paths(&spec, "spec") {
				at := o.Field(path)
				reached[at.Path] = reached[at.Path] || at.Exact()
				if !exists(schemas[translation.Version], at.Path) {
					t.Errorf("%s, %s: %s becomes %s, which v1alpha1 does not have", kind, form, path, at.Path)
				}
				if at.Stored != "" && at.Stored != path {
					t.Errorf("%s, %s: %s is said to be %s of v1", kind, form, path, at.Stored)
				}
			}
		}
		// No field of v1alpha1 is out of reach.
		for _, path := range missing(kind, schemas[translation.Version].Properties["spec"], reached) {
			t.Errorf("%s: no field of v1 becomes %s", kind, path)
		}
	}
}

// withoutHub are the fields of v1alpha1 that v1 has nothing of: no rule speaks of them but as of what
// is kept in an annotation.
var withoutHub = map[string]bool{
	"RebootPolicy spec.target.apiVersion":   true,
	"RebootPolicy spec.policies[0].trigger": true,
}

func missing(kind string, spec apiextensionsv1.JSONSchemaProps, reached map[string]bool) (lacking []string) {
	for _, path := range paths(&spec, "spec") {
		path = strings.ReplaceAll(path, "spec.ports[example.com/key]", "spec.ports.a")
		if !reached[path] && !withoutHub[kind+" "+path] {
			lacking = append(lacking, path)
		}
	}
	return lacking
}
