// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pages are the Markdown files of the project by their path from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"bin", "dist", ".git"}, entry.Name()):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		content, err := os.ReadFile(path)
		found[strings.TrimPrefix(filepath.ToSlash(path), "../")] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 60 || found["README.md"] == "" {
		t.Fatalf("read %d pages: the search is broken", len(found))
	}
	return found
}

var (
	fence   = regexp.MustCompile("(?ms)^ *```([a-z]*)\n(.*?)^ *```$")
	span    = regexp.MustCompile("`[^`\n]+`")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	anchor  = regexp.MustCompile(`<a id="([^"]+)"`)
)

// anchors are those that GitHub makes of the headings of a page, and its own.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	page = fence.ReplaceAllString(page, "")
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		text := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(h[1], "$1")
		slug := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(text), "")
		slug = strings.ReplaceAll(strings.TrimSpace(slug), " ", "-")
		unique := slug
		for i := 1; found[unique]; i++ {
			unique = fmt.Sprintf("%s-%d", slug, i)
		}
		found[unique] = true
	}
	for _, a := range anchor.FindAllStringSubmatch(page, -1) {
		found[a[1]] = true
	}
	return found
}

// brokenLinks are the links of a page to files and sections that are not there.
func brokenLinks(all map[string]string, path string) []string {
	var broken []string
	prose := span.ReplaceAllString(fence.ReplaceAllString(all[path], ""), "")
	for _, l := range link.FindAllStringSubmatch(prose, -1) {
		target, section, _ := strings.Cut(l[1], "#")
		if strings.Contains(target, ":") {
			continue // of another site
		}
		file := path
		if target != "" {
			file = filepath.ToSlash(filepath.Join(filepath.Dir(path), target))
		}
		if _, err := os.Stat(filepath.Join("..", file)); err != nil && all[file] == "" {
			broken = append(broken, l[1]+": there is no such file")
			continue
		}
		if section != "" && strings.HasSuffix(file, ".md") && !anchors(all[file])[section] {
			broken = append(broken, l[1]+": that page has no such section")
		}
	}
	return broken
}

func TestLinksInTheDocumentationResolve(t *testing.T) {
	for text, want := range map[string]int{"[a](none.md)": 1, "[a](#a-1) [b](#a-2)": 1, "[a](docs)": 0, "[a](#nothing)": 1, "[a](https://example.com/none.md), `[a](none.md)`": 0, "[a](README.md#two-commands)": 0} {
		all := pages(t)
		all["test.md"] = "# A\n\n## A\n\n" + text
		if got := brokenLinks(all, "test.md"); len(got) != want {
			t.Errorf("%s: found %v: the search is broken", text, got)
		}
	}
	all := pages(t)
	for path := range all {
		for _, problem := range brokenLinks(all, path) {
			t.Errorf("%s: %s", path, problem)
		}
	}
}

func TestEachPageIsLinkedFromTheIndex(t *testing.T) {
	all := pages(t)
	for _, index := range []struct{ page, folder string }{{"docs/README.md", "docs/guides"}, {"docs/reference/README.md", "docs/reference"}, {"docs/reference/README.md", "docs/reference/api"}, {"docs/decisions/README.md", "docs/decisions"}} {
		for path := range all {
			target, err := filepath.Rel(filepath.Dir(index.page), path)
			if err == nil && filepath.Dir(path) == index.folder && path != index.page && !strings.Contains(all[index.page], "("+filepath.ToSlash(target)) {
				t.Errorf("%s does not link %s", index.page, path)
			}
		}
	}
}

func TestTheDocumentationNamesTargetsOfMakeThatExist(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, rule := range regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`).FindAllSubmatch(makefile, -1) {
		targets[string(rule[1])] = true
	}
	call := regexp.MustCompile(`(?m)(?:^|[\x60$&;|] ?|\bthen )make ((?:[A-Z]+=\S* )*)([a-z][a-z0-9-]*)`)
	found := 0
	for path, page := range pages(t) {
		if path == "CHANGELOG.md" {
			continue // it stays as it was written
		}
		code := strings.Join(span.FindAllString(fence.ReplaceAllString(page, ""), -1), "\n")
		for _, block := range fence.FindAllStringSubmatch(page, -1) {
			if block[1] == "console" || block[1] == "sh" || block[1] == "yaml" {
				code += "\n" + block[2]
			}
		}
		for _, m := range call.FindAllStringSubmatch(code, -1) {
			found++
			if !targets[m[2]] {
				t.Errorf("%s: the Makefile has no target %s", path, m[2])
			}
		}
	}
	if found < 15 {
		t.Errorf("found %d calls of make: the search is broken", found)
	}
}

// Both ways: what the page tells of is a constant of an API package, and no condition or reason is missing there.
func TestTheReferenceListsConditionsAndReasonsOfTheAPI(t *testing.T) {
	content, err := os.ReadFile("../docs/reference/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile("`([A-Z][A-Za-z]+)`")
	for kind, folder := range map[string]string{"ExternalService": "networking", "RebootPolicy": "autoreboot", "ChaosPod": "chaos"} {
		_, section, found := strings.Cut(string(content), "\n## "+kind+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		constants := constantsOf(t, "../api/"+folder+"/v1")
		conditions := constantsOf(t, "../api/"+folder+"/v1/conditions.go")
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
func constantsOf(t *testing.T, path string) map[string]bool {
	t.Helper()
	files := []string{path}
	if !strings.HasSuffix(path, ".go") {
		var err error
		if files, err = filepath.Glob(path + "/*.go"); err != nil {
			t.Fatal(err)
		}
	}
	found := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
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
