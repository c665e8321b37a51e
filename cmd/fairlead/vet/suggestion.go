// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// maxListed is the number of fields from which on a message does not list them.
const maxListed = 12

// schemas are the schemas of a CRD by version.
type schemas map[string]*apiextensionsv1.JSONSchemaProps

// readSchemas returns nil if the CRD cannot be parsed; crdschema reports that error.
func readSchemas(text []byte) schemas {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil
	}
	all := schemas{}
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Schema != nil {
			all[v.Name] = v.Schema.OpenAPIV3Schema
		}
	}
	return all
}

// suggestion returns what the user can do about the unknown field at a path, as the second half of a message.
func (c *objectCheck) suggestion(path string) string {
	all := c.kind.schemas()
	parent, name := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	known := slices.Sorted(maps.Keys(properties(all[c.version], parent)))
	for _, version := range slices.Sorted(maps.Keys(all)) {
		if _, has := properties(all[version], parent)[name]; has && version != c.version {
			return fmt.Sprintf("it exists only at %s/%s", c.kind.Group, version)
		}
	}
	if remedy := remedies[lastTwo(path)]; remedy != "" {
		return remedy
	}
	if remedy := remedies[name]; remedy != "" && slices.Contains(known, "interval") {
		return remedy
	}
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	if len(known) == 0 || len(known) > maxListed {
		return "remove it"
	}
	return "the fields here are " + strings.Join(known, ", ")
}

// remedies name the field to use instead of a field of Kubernetes, by the last name of a path or the last two.
var remedies = map[string]string{
	"httpGet.host":        "write hostHeader for the header Host; it does not change what is connected to",
	"service.type":        "write clusterIP: None for a headless Service; without it, the Service has a cluster IP",
	"periodSeconds":       `write interval with a unit, such as "10s"`,
	"timeoutSeconds":      `write timeout with a unit, such as "2s"`,
	"initialDelaySeconds": "remove it",
}

// lastTwo returns the last two names of a path.
func lastTwo(path string) string {
	names := strings.Split(path, ".")
	return strings.Join(names[max(len(names)-2, 0):], ".")
}

// properties returns the fields that the schema has at a path. It returns nil for a path that the schema does not have.
func properties(schema *apiextensionsv1.JSONSchemaProps, path string) map[string]apiextensionsv1.JSONSchemaProps {
	if schema == nil || strings.HasPrefix(path, "metadata") {
		return nil
	}
	if path == "" {
		return schema.Properties
	}
	for name := range strings.SplitSeq(path, ".") {
		name, _, item := strings.Cut(name, "[")
		next, has := schema.Properties[name]
		switch {
		case has:
		case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
			next = *schema.AdditionalProperties.Schema
		default:
			return nil
		}
		if item && next.Items != nil && next.Items.Schema != nil {
			next = *next.Items.Schema
		}
		schema = &next
	}
	return schema.Properties
}

// nearest returns the known name that is most similar: it differs by case alone, or by at most two letters. It is empty if there is none.
func nearest(name string, known []string) string {
	best, least := "", 3
	for _, candidate := range known {
		if strings.EqualFold(candidate, name) {
			return candidate
		}
		if d := distance(name, candidate, least); d < least && d < len(name)-1 {
			best, least = candidate, d
		}
	}
	return best
}

// distance returns how many letters must be changed, added or removed to turn a into b. It may return limit for every distance that is
// as large.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
