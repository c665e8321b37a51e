// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../../../"

var word = regexp.MustCompile("`([A-Z][A-Za-z]+)`")

// documented are the reasons of a kind in docs/reference/conditions.md, each after what it is of and a slash.
func documented(t *testing.T, kind string) map[string]bool {
	t.Helper()
	page, err := os.ReadFile(root + "docs/reference/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## "+kind+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	found, heading, condition := map[string]bool{}, "", ""
	add := func(about, text string) {
		for _, w := range word.FindAllStringSubmatch(text, -1) {
			found[about+"/"+w[1]] = true
		}
	}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		switch {
		case strings.HasPrefix(line, "### "):
			heading = line
		case strings.Contains(heading, "Events"):
		case strings.HasPrefix(line, "`status.endpoints[].addresses[].reason`"):
			add(aboutAddress, line)
		case len(cells) < 4, strings.Contains(line, "| --- |"):
		case heading == "": // conditions
			if w := word.FindStringSubmatch(cells[1]); w != nil {
				condition = w[1]
			}
			add(condition, cells[3])
		case strings.Contains(heading, "Reasons to wait"):
			add("Waiting", cells[1])
		case strings.Contains(heading, "Reasons of runs"):
			add(aboutHistory, cells[1])
		case strings.Contains(heading, "History"):
			add(aboutHistory, cells[3])
		}
	}
	return found
}

// declared are the reasons that an API package declares by constants with these prefixes.
func declared(t *testing.T, folder string, prefixes ...string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(root + "api/" + folder + "/v1/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 {
				return true
			}
			name := spec.Names[0].Name
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if isReason := slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }); ok && isReason {
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				found[value] = true
			}
			return true
		})
	}
	return found
}

// hasMeaning reports whether a reason is explained whatever it is of, or of one thing.
func hasMeaning(kind, reason string) bool {
	if _, has := meaningOf(kind, "", reason); has {
		return true
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(meanings[kind])), func(key string) bool { return strings.HasSuffix(key, "/"+reason) })
}

func TestEachReasonOfTheReferenceHasAMeaningAndARemedy(t *testing.T) {
	for _, of := range []struct {
		kind, folder      string
		inPage, inPackage int // at least
		prefixes          []string
	}{
		{ExternalService, "networking", 35, 20, []string{"Reason", "Probe", "FaultOutcome"}},
		{RebootPolicy, "autoreboot", 35, 20, []string{"Reason", "Phase"}},
		{ClusterRebootPolicy, "autoreboot", 6, 3, []string{"ClusterReason"}},
		{ChaosPod, "chaos", 35, 20, []string{"Reason", "Phase"}},
	} {
		kind := of.kind
		reasons := documented(t, kind)
		if len(reasons) < of.inPage {
			t.Fatalf("%s: %d reasons: the search is broken", kind, len(reasons))
		}
		known := map[string]bool{}
		for reason := range reasons {
			about, name, _ := strings.Cut(reason, "/")
			known[name] = true
			m, has := meaningOf(kind, about, name)
			if !has {
				t.Errorf("%s: why does not know the reason %s", kind, reason)
			} else if !strings.HasSuffix(m.Text, ".") || !strings.HasSuffix(m.Remedy, ".") || len(m.Text) < 10 {
				t.Errorf("%s: %s has no sentence for its meaning %q or its remedy %q", kind, reason, m.Text, m.Remedy)
			}
		}
		own := declared(t, of.folder, of.prefixes...)
		if len(own) < of.inPackage {
			t.Fatalf("%s: %d constants: the search is broken", kind, len(own))
		}
		for reason := range own {
			if known[reason] = true; !hasMeaning(kind, reason) {
				t.Errorf("%s: why does not know the reason %s, which the API declares", kind, reason)
			}
		}
		for key := range meanings[kind] {
			if _, name, isOf := strings.Cut(key, "/"); isOf {
				key = name
			}
			if !known[key] {
				t.Errorf("%s: why explains %s, which is no reason", kind, key)
			}
		}
	}
}

func TestEachRequestOfAMeaningIsOneOfItsKind(t *testing.T) {
	for kind, of := range meanings {
		for reason, m := range of {
			if m.Verb != "" && annotations[m.Verb][kind] == "" {
				t.Errorf("%s: %s names %s, which cannot be requested", kind, reason, m.Verb)
			}
		}
	}
}
