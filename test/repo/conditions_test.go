// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
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
			annotation := strings.Contains(value, ".dev/") || value == "Hold" || value == "Restart" // or a value of one
			if !documented[value] && !annotation {
				t.Errorf("%s: conditions.md does not tell of %s", kind, value)
			}
		}
	}
}

// constantsOf are the values of all constants of text in a file, or in the files of a folder.
func constantsOf(t *testing.T, folderOrFile string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
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
				for _, value := range spec.(*ast.ValueSpec).Values {
					if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
						text, err := strconv.Unquote(literal.Value)
						if err != nil {
							t.Fatal(err)
						}
						found[text] = true
					}
				}
			}
			return false
		})
	}
	return found
}
