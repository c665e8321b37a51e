// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package crdschema

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func berths(t *testing.T) *Kind {
	t.Helper()
	kind, err := Parse(berthsYAML(t))
	if err != nil {
		t.Fatal(err)
	}
	return kind
}

func berthsYAML(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/berths.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// object reads a Berth named "a" around the given spec, in YAML.
func object(t *testing.T, doc string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := json.Unmarshal(data, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func berth(t *testing.T, spec string) map[string]any {
	t.Helper()
	return object(t, "{apiVersion: harbor.example.com/v1, kind: Berth, metadata: {name: a}, spec: "+spec+"}")
}

func TestParseNamesTheKindAndItsVersions(t *testing.T) {
	kind := berths(t)
	if got, want := kind.groupKind.String(), "Berth.harbor.example.com"; got != want {
		t.Errorf("kind %s, want %s", got, want)
	}
	if diff := cmp.Diff([]string{"v1", "v1alpha1"}, kind.Versions()); diff != "" {
		t.Error(diff)
	}
}

func TestParseRefusesWhatTheServerWouldRefuse(t *testing.T) {
	good := string(berthsYAML(t))
	for name, tc := range map[string]struct{ old, new, want string }{
		"another kind":              {"kind: CustomResourceDefinition", "kind: ConfigMap", "give a CustomResourceDefinition"},
		"a field CRDs do not have":  {"scope: Namespaced", "scoop: Namespaced", "scoop"},
		"CEL that does not compile": {"self.note != 'reef'", "self.nota != 'reef'", "undefined field 'nota'"},
		"CEL of unbounded cost": {"type: string, maxLength: 8}", "type: array, items: {type: string}}",
			"exceeds budget"},
		"a default its schema refuses": {"default: Port", "default: Keel", "Keel"},
		"a schema without a type":      {"depth: {type: integer, minimum: 1}", "depth: {minimum: 1}", "must not be empty"},
	} {
		t.Run(name, func(t *testing.T) {
			broken := strings.Replace(good, tc.old, tc.new, 1)
			if name == "CEL of unbounded cost" {
				broken = strings.Replace(broken, "self.note != 'reef'",
					"self.note.all(a, self.note.all(b, self.note.exists(c, a == b + c)))", 1)
			}
			if broken == good {
				t.Fatalf("%q is not in the good CRD", tc.old)
			}
			_, err := Parse([]byte(broken))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestValidateAgreesWithTheServersVerdict(t *testing.T) {
	kind := berths(t)
	const stood = `{side: Port, pier: north, note: fine}`
	for name, tc := range map[string]struct {
		spec, old string
		want      []string // in order, a part of each error
	}{
		"good":                        {spec: `{side: Port, depth: 3, moorings: [{name: bow}, {name: stern}]}`},
		"enum":                        {spec: `{side: Keel}`, want: []string{`spec.side: Unsupported value: "Keel"`, "not checked"}},
		"minimum lets CEL still run":  {spec: `{depth: 0, note: reef}`, want: []string{"spec.depth", "keep off the reef"}},
		"type":                        {spec: `{depth: deep}`, want: []string{"spec.depth", "not checked"}},
		"CEL":                         {spec: `{note: reef}`, want: []string{"spec: Invalid value: keep off the reef"}},
		"list map":                    {spec: `{moorings: [{name: bow}, {name: bow}]}`, want: []string{"spec.moorings[1]: Duplicate value"}},
		"embedded without a kind":     {spec: `{cargo: {apiVersion: v1}}`, want: []string{"spec.cargo.kind: Required", "not checked"}},
		"embedded with a bad label":   {spec: `{cargo: {apiVersion: v1, kind: Tea, metadata: {labels: {"a b": c}}}}`, want: []string{"spec.cargo.metadata.labels"}},
		"no transition on create":     {spec: `{pier: south}`},
		"transition":                  {spec: `{pier: south}`, old: stood, want: []string{"pier cannot change"}},
		"unchanged":                   {spec: stood, old: stood},
		"old error unchanged":         {spec: `{side: Keel, depth: 2}`, old: `{side: Keel, depth: 1}`},
		"old error made another":      {spec: `{side: Mast, depth: 2}`, old: `{side: Keel, depth: 1}`, want: []string{"Mast", "not checked"}},
		"old list map error stays":    {spec: `{depth: 1, moorings: [{name: bow}, {name: bow}]}`, old: `{moorings: [{name: bow}, {name: bow}]}`},
		"CEL unchanged part forgiven": {spec: `{note: reef}`, old: `{note: reef}`},
	} {
		t.Run(name, func(t *testing.T) {
			var old map[string]any
			if tc.old != "" {
				old = berth(t, tc.old)
			}
			errs := kind.Validate(context.Background(), "v1", berth(t, tc.spec), old)
			if len(errs) != len(tc.want) {
				t.Fatalf("got %d errors, want %d: %v", len(errs), len(tc.want), errs)
			}
			for i, want := range tc.want {
				if !strings.Contains(errs[i].Error(), want) {
					t.Errorf("error %d is %q, want %q in it", i, errs[i], want)
				}
			}
		})
	}
}

func TestValidateReadsTheNameAndTheVersion(t *testing.T) {
	kind := berths(t)
	long := berth(t, `{}`)
	long["metadata"].(map[string]any)["name"] = "north-basin-12"
	if errs := kind.Validate(context.Background(), "v1", long, nil); len(errs) != 1 || !strings.Contains(errs[0].Detail, "at most 10") {
		t.Errorf("long name: %v", errs)
	}
	if errs := kind.Validate(context.Background(), "v1alpha1", long, nil); len(errs) != 0 {
		t.Errorf("v1alpha1 has no such rule: %v", errs)
	}
	if errs := kind.Validate(context.Background(), "v2", long, nil); len(errs) != 1 || errs[0].Field != "apiVersion" {
		t.Errorf("unknown version: %v", errs)
	}
}

func TestDefaultFillsOnlyWhatIsUnset(t *testing.T) {
	kind := berths(t)
	obj := berth(t, `{moorings: [{name: bow}, {name: stern, load: 9}]}`)
	kind.Default("v1", obj)
	want := berth(t, `{side: Port, moorings: [{name: bow, load: 1}, {name: stern, load: 9}]}`)
	if diff := cmp.Diff(want, obj); diff != "" {
		t.Error(diff)
	}
	kind.Default("v9", obj)
	if diff := cmp.Diff(want, obj); diff != "" {
		t.Errorf("an unknown version has no defaults: %s", diff)
	}
}

func TestPruneDropsAndNamesWhatTheSchemaDoesNotKnow(t *testing.T) {
	kind := berths(t)
	obj := object(t, `
apiVersion: harbor.example.com/v1
kind: Berth
metadata: {name: a, color: red}
spec:
  depth: 2
  keel: long
  note: null
  moorings: [{name: bow, knot: clove}]
  cargo: {apiVersion: v1, kind: Tea, chests: 3, metadata: {name: x, smell: fine}}
harbor: master
`)
	dropped := kind.Prune("v1", obj)
	if diff := cmp.Diff([]string{"harbor", "metadata.color", "spec.cargo.metadata.smell", "spec.keel", "spec.moorings[0].knot"}, dropped); diff != "" {
		t.Error(diff)
	}
	want := object(t, `
apiVersion: harbor.example.com/v1
kind: Berth
metadata: {name: a}
spec:
  depth: 2
  moorings: [{name: bow}]
  cargo: {apiVersion: v1, kind: Tea, chests: 3, metadata: {name: x}}
`)
	if diff := cmp.Diff(want, obj); diff != "" {
		t.Error(diff)
	}
	if dropped := kind.Prune("v1", obj); len(dropped) != 0 {
		t.Errorf("a second time drops %v", dropped)
	}
}
