// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/registry"
	"sigs.k8s.io/kube-api-linter/pkg/config"
	_ "sigs.k8s.io/kube-api-linter/pkg/registration"
	"sigs.k8s.io/yaml"
)

// conventions is the file of what stays against a rule.
const conventions = "testdata/conventions.yaml"

// exception is a finding of a rule about some fields, by their types, with the reason why it stays.
type exception struct {
	Rule   string              `json:"rule"`
	Reason string              `json:"reason"`
	Fields map[string][]string `json:"fields"`
}

// The rules of kube-api-linter are those of the Kubernetes API conventions.
func TestTheAPIKeepsTheConventions(t *testing.T) {
	excepted := map[string]bool{} // whether it was reported
	for _, e := range exceptions(t) {
		if e.Reason == "" {
			t.Errorf("%s: an exception of %s without a reason", conventions, e.Rule)
		}
		for of, fields := range e.Fields {
			for _, field := range fields {
				excepted[e.Rule+" "+of+"."+field] = false
			}
		}
	}
	for _, f := range findings(t) {
		if _, known := excepted[f.rule+" "+f.field]; known {
			excepted[f.rule+" "+f.field] = true
			continue
		}
		t.Errorf("%s: %s\nCorrect it, or list %s in %s.", f.rule, f.message, f.field, conventions)
	}
	for name, reported := range excepted {
		if !reported {
			t.Errorf("%s: %s is no longer reported: remove it", conventions, name)
		}
	}
}

func exceptions(t *testing.T) []exception {
	t.Helper()
	text, err := os.ReadFile(conventions)
	if err != nil {
		t.Fatal(err)
	}
	var all []exception
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// allowsNoZero is in what optionalfields says of a pointer to what cannot be zero. A field with a default is a pointer, whatever
// its bounds.
const allowsNoZero = "does not allow the zero value"

// finding is a rule's message about a field, such as networking/v1.Endpoint.Name.
type finding struct{ rule, field, message string }

func findings(t *testing.T) []finding {
	t.Helper()
	analyzers, err := registry.DefaultRegistry().InitializeLinters(config.Linters{
		Enable:  []string{"maxlength", "statusoptional", "statussubresource"},
		Disable: []string{"nonpointerstructs"}, // for types that Go code validates
	}, config.LintersConfig{
		"conditions":     map[string]any{"useProtobuf": "Forbid", "usePatchStrategy": "Forbid"}, // a CRD has neither
		"optionalfields": map[string]any{"pointers": map[string]any{"preference": "WhenRequired"}},
		"defaults":       map[string]any{"preferredDefaultMarker": "kubebuilder:default"},
	})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax | packages.NeedModule, Dir: repository(t)}, "./api/...")
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) < 7 || packages.PrintErrors(loaded) > 0 {
		t.Fatalf("%d packages of the API", len(loaded))
	}
	graph, err := checker.Analyze(analyzers, loaded, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []finding
	for action := range graph.All() {
		if action.Err != nil {
			t.Errorf("%s: %v", action, action.Err)
		}
		if !action.IsRoot {
			continue
		}
		for _, d := range action.Diagnostics {
			if action.Analyzer.Name == "optionalfields" && strings.Contains(d.Message, allowsNoZero) {
				continue // a pointer that it could do without
			}
			all = append(all, finding{
				rule:    action.Analyzer.Name,
				field:   strings.TrimPrefix(action.Package.PkgPath, "github.com/fairlead-dev/fairlead/api/") + fieldAt(action.Package.Syntax, d.Pos),
				message: fmt.Sprintf("%s: %s", action.Package.Fset.Position(d.Pos), d.Message),
			})
		}
	}
	return all
}

// fieldAt returns the names of the type at a position, and of its field, each after a dot.
func fieldAt(files []*ast.File, at token.Pos) (name string) {
	for _, f := range files {
		ast.Inspect(f, func(node ast.Node) bool {
			if node == nil || at < node.Pos() || at >= node.End() {
				return false
			}
			switch node := node.(type) {
			case *ast.TypeSpec:
				name = "." + node.Name.Name
			case *ast.Field:
				if len(node.Names) > 0 {
					name += "." + node.Names[0].Name
				}
			}
			return true
		})
	}
	return name
}
