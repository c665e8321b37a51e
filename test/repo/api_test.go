// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/internal/spelling"
)

var update = flag.Bool("update", false, "write the reference pages")

// The reference of the API is made from the CRDs: run the test with -update to write it.
func TestTheReferenceListsEveryField(t *testing.T) {
	definitions := files(t, []string{"config/crd/bases"}, ".yaml")
	if len(definitions) != 4 {
		t.Fatalf("%d CRDs", len(definitions))
	}
	stored := files(t, []string{"docs/reference/api"}, ".md")
	for _, content := range definitions {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict([]byte(content), &crd); err != nil {
			t.Fatal(err)
		}
		for i := range crd.Spec.Versions {
			if !crd.Spec.Versions[i].Storage {
				continue // it has the same fields: internal/spelling compares the schemas
			}
			name := "docs/reference/api/" + strings.ToLower(crd.Spec.Names.Kind) + "-" + crd.Spec.Versions[i].Name + ".md"
			page := pageOf(&crd, &crd.Spec.Versions[i])
			if *update {
				if err := os.WriteFile(filepath.Join(repository(t), name), []byte(page), 0o600); err != nil {
					t.Fatal(err)
				}
				stored[name] = page
			}
			if diff := cmp.Diff(stored[name], page); diff != "" {
				t.Errorf("%s differs from the CRD; run in test: go test ./repo -run EveryField -update (-file +CRD):\n%s", name, diff)
			}
			if strings.Count(page, "\n| `") < 10 {
				t.Errorf("%s lists %d fields", name, strings.Count(page, "\n| `"))
			}
			delete(stored, name)
		}
	}
	for name := range stored {
		t.Errorf("%s is of no kind", name)
	}
}

func pageOf(crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion) string {
	var page strings.Builder
	names := crd.Spec.Names
	fmt.Fprintf(&page, "# %s %s\n\n`go test ./repo -run EveryField -update`, in test, writes this page from the CRD.\n\n", names.Kind, version.Name)
	fmt.Fprintf(&page, "`apiVersion: %s/%s`, `kind: %s`, short name `%s`. ", crd.Spec.Group, version.Name, names.Kind, strings.Join(names.ShortNames, "`, `"))
	fmt.Fprintf(&page, "Objects are stored at this version.\n\n%s\n", prose(version.Schema.OpenAPIV3Schema.Description))
	for _, part := range []string{"spec", "status"} {
		of := version.Schema.OpenAPIV3Schema.Properties[part]
		section(&page, part, &of)
	}
	moves, _ := spelling.Of(schema.GroupKind{Group: crd.Spec.Group, Kind: names.Kind})
	page.WriteString("\n## At v1alpha1\n\nThe deprecated version `v1alpha1` has the same fields")
	if len(moves) == 0 {
		page.WriteString(".\n")
		return page.String()
	}
	page.WriteString(", some by another name or at another place:\n\n| v1alpha1 | v1 |\n| --- | --- |\n")
	for _, m := range moves {
		fmt.Fprintf(&page, "| `%s` | `%s` |\n", m.V1alpha1, m.Hub)
	}
	return page.String()
}

// section writes the table of an object's fields, and then those of the objects in it.
func section(page *strings.Builder, path string, schema *apiextensionsv1.JSONSchemaProps) {
	fmt.Fprintf(page, "\n## %s\n\n", path)
	if schema.Description != "" && !strings.Contains(path, ".") {
		page.WriteString(prose(schema.Description) + "\n\n")
	}
	page.WriteString("| field | type | |\n| --- | --- | --- |\n")
	type nested struct {
		path   string
		schema *apiextensionsv1.JSONSchemaProps
	}
	var below []nested
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		item, steps := element(&field)
		here := path + "." + name + steps
		kind := typeOf(&field)
		switch {
		case name == "template" && ptr.Deref(field.XPreserveUnknownFields, false):
			kind = "[pod template](https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-template-v1/#PodTemplateSpec)"
		case here == "spec.template.spec":
			kind = "[spec of a RebootPolicy](rebootpolicy-v1.md#spec)"
		case len(item.Properties) > 0:
			kind = fmt.Sprintf("[%s](#%s)", kind, strings.ToLower(strings.NewReplacer(".", "", "[]", "", "{}", "").Replace(here)))
			below = append(below, nested{here, item})
		}
		required := ""
		if slices.Contains(schema.Required, name) {
			required = ", required"
		}
		fmt.Fprintf(page, "| `%s` | %s%s | %s |\n", name, kind, required, facts(&field, item))
	}
	var rules []string
	for _, rule := range schema.XValidations {
		if rule.Message != "" {
			rules = append(rules, "- "+prose(rule.Message))
		}
	}
	if len(rules) > 0 {
		slices.Sort(rules)
		fmt.Fprintf(page, "\nRules:\n\n%s\n", strings.Join(slices.Compact(rules), "\n"))
	}
	for _, b := range below {
		section(page, b.path, b.schema)
	}
}

// element returns the schema of the elements of a list or a map, with the steps to it, or the schema itself.
func element(schema *apiextensionsv1.JSONSchemaProps) (*apiextensionsv1.JSONSchemaProps, string) {
	switch {
	case schema.Items != nil && schema.Items.Schema != nil:
		inner, steps := element(schema.Items.Schema)
		return inner, "[]" + steps
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
		inner, steps := element(schema.AdditionalProperties.Schema)
		return inner, "{}" + steps
	}
	return schema, ""
}

func typeOf(schema *apiextensionsv1.JSONSchemaProps) string {
	inner, steps := element(schema)
	name := inner.Type
	if inner.XIntOrString {
		name = "integer or string"
	}
	if name == "" {
		name = "any"
	}
	for len(steps) > 0 {
		last := steps[len(steps)-2:]
		steps = steps[:len(steps)-2]
		name = map[string]string{"[]": "list of ", "{}": "map of "}[last] + name
	}
	return name
}

// facts are the description of a field and what its schema demands.
func facts(field, item *apiextensionsv1.JSONSchemaProps) string {
	text := []string{prose(field.Description)}
	add := func(format string, args ...any) { text = append(text, fmt.Sprintf(format, args...)) }
	if field.Default != nil {
		add("Default: `%s`.", compact(field.Default.Raw))
	}
	if len(item.Enum) > 0 {
		var values []string
		for _, v := range item.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		add("One of %s.", strings.Join(values, ", "))
	}
	if item.Format != "" && item.Format != "int32" && item.Format != "int64" {
		add("Format: %s.", item.Format)
	}
	bound := func(least, most *int64, what string) {
		switch {
		case least != nil && most != nil:
			add("%d to %d %s.", *least, *most, what)
		case least != nil && *least > 0:
			add("At least %d %s.", *least, what)
		case most != nil:
			add("At most %d %s.", *most, what)
		}
	}
	whole := func(f *float64) *int64 {
		if f == nil {
			return nil
		}
		n := int64(*f)
		return &n
	}
	if least, most := whole(item.Minimum), whole(item.Maximum); least != nil || most != nil {
		switch {
		case least != nil && most != nil:
			add("From %d to %d.", *least, *most)
		case least != nil:
			add("At least %d.", *least)
		default:
			add("At most %d.", *most)
		}
	}
	bound(field.MinItems, field.MaxItems, "items")
	bound(field.MinProperties, field.MaxProperties, "entries")
	return strings.TrimSpace(strings.Join(slices.DeleteFunc(text, func(s string) bool { return s == "" }), " "))
}

func compact(raw []byte) string {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return string(raw)
	}
	if text, ok := value.(string); ok {
		return text
	}
	return string(raw)
}

// prose is a text in one line of a table.
func prose(text string) string {
	text = strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(strings.Join(strings.Fields(text), " "))
	if text != "" && !strings.ContainsAny(text[len(text)-1:], ".!?:)") {
		text += "."
	}
	return text
}
