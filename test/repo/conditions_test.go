// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Both ways: what the page tells of is a constant of an API package, and no condition or reason is missing there.
func TestTheReferenceListsConditionsAndReasonsOfTheAPI(t *testing.T) {
	page := read(t, "docs/reference/conditions.md")
	word := regexp.MustCompile("`([A-Z][A-Za-z]+)`")
	for kind, folder := range map[string]string{"ExternalService": "networking", "RebootPolicy": "autoreboot", "ChaosPod": "chaos"} {
		_, section, found := strings.Cut(page, "\n## "+kind+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		constants := constantsOf(t, "api/"+folder+"/v1")
		conditions := constantsOf(t, "api/"+folder+"/v1/conditions.go")
		if !found || len(conditions) < 10 {
			t.Fatalf("%s: section %t, %d constants: the search is broken", kind, found, len(conditions))
		}
		documented, events := map[string]bool{}, false
		for line := range strings.Lines(section) {
			if strings.HasPrefix(line, "#") {
				events = strings.Contains(line, "Events")
			}
			for _, w := range word.FindAllStringSubmatch(line, -1) {
				documented[w[1]] = true
			}
			cells := strings.Split(line, "|")
			if events || !strings.HasPrefix(line, "|") || len(cells) < 4 {
				continue
			}
			// The last cell is the meaning.
			for _, w := range word.FindAllStringSubmatch(strings.Join(cells[:len(cells)-2], "|"), -1) {
				if !constants[w[1]] {
					t.Errorf("%s: conditions.md tells of %s, which is no constant of api/%s/v1", kind, w[1], folder)
				}
			}
		}
		for value := range conditions {
			annotation := strings.Contains(value, ".dev/") || slices.Contains([]string{"Hold", "Restart", "approve"}, value) // or a value or the verb of one
			if !documented[value] && !annotation {
				t.Errorf("%s: conditions.md does not tell of %s", kind, value)
			}
		}
	}
}

// row is a line of a table of conditions: a type, or none where it is that of the line before, a status, and reasons.
var row = regexp.MustCompile("(?m)^\\| (?:`(\\w+)`)? ?\\| (True|False|Unknown) \\| ((?:`\\w+`(?:, )?)+|a \\[)")

// What a condition means does not depend on the kind: the types and reasons that all kinds have are declared once, each type but
// Reconciling and Stalled can be other than true, and no reason repeats its type.
func TestConditionsOfTheKindsHaveOneVocabulary(t *testing.T) {
	page := read(t, "docs/reference/conditions.md")
	shared, declared := namedConstantsOf(t, "api/common", nil), map[string]string{}
	for kind, folder := range map[string]string{"ExternalService": "networking", "RebootPolicy": "autoreboot", "ChaosPod": "chaos"} {
		_, section, _ := strings.Cut(page, "\n## "+kind+"\n")
		section, _, _ = strings.Cut(section, "\n### ")
		states, last := map[string]map[string]bool{}, ""
		for _, r := range row.FindAllStringSubmatch(section, -1) {
			if r[1] != "" {
				last, states[r[1]] = r[1], map[string]bool{}
			}
			for reason := range strings.SplitSeq(r[3], ", ") {
				if reason = strings.Trim(reason, "`"); reason == last {
					t.Errorf("%s: the reason of %s repeats its type", kind, last)
				}
				states[last][r[2]], states[last][r[2]+" "+reason] = true, true
			}
		}
		for _, want := range []string{"Ready True", "Ready False InvalidSpec", "Ready False WriteRefused", "Waiting True", "Waiting False NothingPending",
			"Stalled True InvalidSpec", "Suspended True SuspendedBySpec", "Suspended False NotSuspended"} {
			condition, state, _ := strings.Cut(want, " ")
			if !states[condition][state] {
				t.Errorf("%s has no %s, as the other kinds have", kind, want)
			}
		}
		for condition, of := range states {
			isTransient := condition == "Reconciling" || condition == "Stalled"
			if isTransient == (of["False"] || of["Unknown"]) {
				t.Errorf("%s: %s is absent where nothing is wrong: %t, and the page has %v", kind, condition, isTransient, of)
			}
			if own := namedConstantsOf(t, "api/"+folder+"/v1/conditions.go", nil)["Condition"+condition]; own != "" && declared[condition] != "" {
				t.Errorf("%s declares %s, as %s does: declare it in api/common", kind, condition, declared[condition])
			} else if own != "" {
				declared[condition] = kind
			} else if shared["Condition"+condition] != condition {
				t.Errorf("%s: %s is no constant of api/%s/v1 or api/common", kind, condition, folder)
			}
		}
	}
}

// constantsOf are the values of all constants of text in a file, or in the files of a folder.
func constantsOf(t *testing.T, folderOrFile string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, value := range namedConstantsOf(t, folderOrFile, namedConstantsOf(t, "api/common", nil)) {
		found[value] = true
	}
	return found
}

// namedConstantsOf are the same by their names, with those that have the name of one in shared.
func namedConstantsOf(t *testing.T, folderOrFile string, shared map[string]string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for file, source := range files(t, []string{folderOrFile}, ".go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			declaration, ok := node.(*ast.GenDecl)
			if !ok || declaration.Tok != token.CONST {
				return true
			}
			for _, spec := range declaration.Specs {
				of := spec.(*ast.ValueSpec)
				for i, value := range of.Values {
					switch value := value.(type) {
					case *ast.BasicLit:
						if text, err := strconv.Unquote(value.Value); value.Kind == token.STRING && err == nil {
							found[of.Names[i].Name] = text
						}
					case *ast.SelectorExpr:
						if text := shared[value.Sel.Name]; text != "" {
							found[of.Names[i].Name] = text
						}
					}
				}
			}
			return false
		})
	}
	return found
}
