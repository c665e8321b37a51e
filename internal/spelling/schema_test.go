// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/config/crd"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
	"github.com/fairlead-dev/fairlead/internal/spelling"
)

var plurals = map[string]string{
	"ExternalService": "externalservices", "RebootPolicy": "rebootpolicies", "ClusterRebootPolicy": "clusterrebootpolicies", "ChaosPod": "chaospods",
}

// words translates rules and messages of v1 to the words of v1alpha1.
var words = map[string]*strings.Replacer{
	"ExternalService": strings.NewReplacer("self.probe", "self.healthCheck", `".probe`, `".healthCheck`, "needs probe", "needs healthCheck"),
	"RebootPolicy":    strings.NewReplacer("self.policies", "self.triggers"),
	"ChaosPod": strings.NewReplacer("self.template", "self.target.template", "oldSelf.template", "oldSelf.target.template",
		"with template", "with target.template", "template cannot", "target.template cannot"),
}

// TestTheSchemasOfBothVersionsAreEqual compares all but the rules of ChaosPod about what it has in another place: those
// are compared by what they refuse.
func TestTheSchemasOfBothVersionsAreEqual(t *testing.T) {
	for _, kind := range spelling.Kinds() {
		t.Run(kind.Kind, func(t *testing.T) {
			hub, alpha := schemaOf(t, kind, spelling.Hub), schemaOf(t, kind, spelling.V1alpha1)
			table, _ := spelling.Of(kind)
			for _, move := range table {
				put(alpha, strings.Split(move.Hub, "."), take(alpha, strings.Split(move.V1alpha1, ".")))
			}
			for _, s := range []map[string]any{hub, alpha} {
				if kind.Kind != "ChaosPod" {
					continue
				}
				spec := property(s, "spec")
				delete(spec, "required") // v1alpha1 has a rule for it
				for _, moved := range []string{"target", "schedule"} {
					rules := slices.Concat(list(spec["x-kubernetes-validations"]), list(property(spec, moved)["x-kubernetes-validations"]))
					spec["x-kubernetes-validations"] = slices.DeleteFunc(rules, func(rule any) bool {
						return strings.Contains(rule.(map[string]any)["message"].(string), "set ")
					})
					delete(property(spec, moved), "x-kubernetes-validations")
				}
			}
			if diff := cmp.Diff(written(t, hub, nil), written(t, alpha, words[kind.Kind])); diff != "" {
				t.Errorf("-v1 +v1alpha1:\n%s", diff)
			}
		})
	}
}

func schemaOf(t *testing.T, kind schema.GroupKind, version string) map[string]any {
	t.Helper()
	text, err := crd.Definition(kind.Group, plurals[kind.Kind])
	if err != nil {
		t.Fatal(err)
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	for _, v := range definition.Spec.Versions {
		if v.Name == version {
			undescribe(v.Schema.OpenAPIV3Schema)
			return v.Schema.OpenAPIV3Schema
		}
	}
	t.Fatalf("%s is not served at %s", kind, version)
	return nil
}

// undescribe removes the descriptions, which v1alpha1 lacks; a property of that name is no text.
func undescribe(value any) {
	switch value := value.(type) {
	case map[string]any:
		if _, text := value["description"].(string); text {
			delete(value, "description")
		}
		for member := range maps.Values(value) {
			undescribe(member)
		}
	case []any:
		for _, item := range value {
			undescribe(item)
		}
	}
}

func property(schema map[string]any, name string) map[string]any {
	found, _ := schema["properties"].(map[string]any)[name].(map[string]any)
	return found
}

func list(value any) []any {
	items, _ := value.([]any)
	return items
}

func take(schema map[string]any, path []string) any {
	for _, name := range path[:len(path)-1] {
		schema = property(schema, name)
	}
	properties := schema["properties"].(map[string]any)
	taken := properties[path[len(path)-1]]
	delete(properties, path[len(path)-1])
	return taken
}

func put(schema map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		schema = property(schema, name)
	}
	schema["properties"].(map[string]any)[path[len(path)-1]] = value
}

// written writes a schema line by line, in the words of v1.
func written(t *testing.T, schema map[string]any, words *strings.Replacer) []string {
	t.Helper()
	text, err := json.MarshalIndent(schema, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if words == nil {
		return strings.Split(string(text), "\n")
	}
	return strings.Split(words.Replace(string(text)), "\n")
}

// TestBothVersionsOfAChaosPodRefuseTheSame compares the rules about what v1alpha1 has in another place.
func TestBothVersionsOfAChaosPodRefuseTheSame(t *testing.T) {
	id := schema.GroupKind{Group: "chaos.fairlead.dev", Kind: "ChaosPod"}
	table, _ := spelling.Of(id)
	text, err := crd.Definition(id.Group, plurals[id.Kind])
	if err != nil {
		t.Fatal(err)
	}
	kind, err := crdschema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{ // and whether they are right
		``: false, `"target":{}`: false, `"target":{"workload":{"kind":"Deployment","name":"a"}}`: true, `"target":{"selector":{}}`: true,
		`"target":{"template":{"spec":{"containers":[]}}}`:                     true,
		`"target":{"selector":{},"template":{"spec":{"containers":[]}}}`:       false,
		`"target":{"selector":{},"workload":{"kind":"Deployment","name":"a"}}`: false,
		`"target":{"template":5}`:                                              false,
	}
	schedules := map[string]bool{
		``: false, `"schedule":{}`: false, `"schedule":{"at":"2027-01-01T00:00:00Z"}`: true, `"schedule":{"cron":"@daily"}`: true, `"schedule":{"interval":"1m"}`: true,
		`"schedule":{"cron":"@daily","interval":"1m"}`:                       false,
		`"schedule":{"at":"2027-01-01T00:00:00Z","timeZone":"UTC"}`:          false,
		`"schedule":{"at":"2027-01-01T00:00:00Z","cron":"@daily"}`:           true,
		`"schedule":{"at":"soon"}`:                                           false,
		`"schedule":{"at":"2027-01-01T00:00:00Z","interval":"1s"}`:           false,
		`"schedule":{"at":"2027-01-01T00:00:00Z","cron":"@daily","count":1}`: true,
	}
	for target, targeted := range targets {
		for schedule, scheduled := range schedules {
			for _, count := range []string{"", `"count":2`} {
				members := slices.DeleteFunc([]string{target, schedule, count}, func(member string) bool { return member == "" })
				raw := []byte(`{"apiVersion":"chaos.fairlead.dev/v1","kind":"ChaosPod","metadata":{"name":"a"},"spec":{` + strings.Join(members, ",") + `}}`)
				canary := strings.Contains(target, "template")
				fine := targeted && (scheduled || canary && (schedule == "" || schedule == `"schedule":{}`)) && (count == "" || !canary)
				for _, version := range []string{spelling.Hub, spelling.V1alpha1} {
					at := raw
					if version == spelling.V1alpha1 {
						if at, err = table.Convert(raw, id.Group, version); err != nil {
							t.Fatal(err)
						}
					}
					var object map[string]any
					if err := kjson.Unmarshal(at, &object); err != nil {
						t.Fatal(err)
					}
					if errs := kind.Validate(t.Context(), version, object, nil); (len(errs) == 0) != fine {
						t.Errorf("%s: right is %t, and: %v", at, fine, errs)
					}
				}
			}
		}
	}
}
