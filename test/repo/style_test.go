// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// rule is one of vale, of the three kinds that styles/Fairlead has.
type rule struct {
	Extends    string            `json:"extends"`
	Message    string            `json:"message"`
	Level      string            `json:"level"`
	IgnoreCase bool              `json:"ignorecase"`
	Swap       map[string]string `json:"swap"`
	Tokens     []string          `json:"tokens"`
	Scope      string            `json:"scope"`
	Max        int               `json:"max"`
	Token      string            `json:"token"`
}

// style returns the rules of styles/Fairlead: each returns what it has against a sentence.
func style(t *testing.T) (rules []func(sentence string) []string) {
	t.Helper()
	for file, text := range files(t, []string{"styles/Fairlead"}, ".yml") {
		var r rule
		if err := yaml.UnmarshalStrict([]byte(text), &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		words := func(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + pattern + `)\b`) }
		switch {
		case r.Extends == "substitution" && r.IgnoreCase:
			for pattern, instead := range r.Swap {
				of := words(pattern)
				rules = append(rules, func(sentence string) (found []string) {
					for _, match := range of.FindAllString(sentence, -1) {
						found = append(found, fmt.Sprintf(r.Message, instead, match))
					}
					return found
				})
			}
		case r.Extends == "existence" && r.IgnoreCase:
			of := words(strings.Join(r.Tokens, "|"))
			rules = append(rules, func(sentence string) (found []string) {
				for _, match := range of.FindAllString(sentence, -1) {
					found = append(found, fmt.Sprintf(r.Message, match))
				}
				return found
			})
		case r.Extends == "occurrence" && r.Scope == "sentence":
			of := regexp.MustCompile(r.Token)
			rules = append(rules, func(sentence string) []string {
				if len(of.FindAllString(sentence, -1)) <= r.Max {
					return nil
				}
				return []string{r.Message}
			})
		default:
			t.Fatalf("%s: a rule that extends %q is not held here", file, r.Extends)
		}
	}
	if len(rules) < 10 {
		t.Fatalf("styles/Fairlead has %d rules", len(rules))
	}
	return rules
}

// styled returns the sentences of a page that break a rule, with the rule's message.
func styled(rules []func(string) []string, page string) (found []string) {
	for _, sentence := range sentences(page) {
		for _, r := range rules {
			for _, problem := range r(sentence) {
				found = append(found, problem+" "+sentence)
			}
		}
	}
	return found
}

var (
	htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	linked      = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	newBlock    = regexp.MustCompile(`\n\s*\n|\n\s*(?:[-*|#]|\d+\. )`)
	endOf       = regexp.MustCompile(`[.!?]\s+`)
)

// sentences are those of the prose of a page: of paragraphs, headings, items of lists, and cells of tables. Code counts as a word.
func sentences(page string) (all []string) {
	page = htmlComment.ReplaceAllString(fence.ReplaceAllString(page, "\n\n"), "")
	page = strings.ReplaceAll(span.ReplaceAllString(linked.ReplaceAllString(page, "$1"), "code"), "**", "")
	for _, block := range newBlock.Split(page, -1) {
		for cell := range strings.SplitSeq(strings.Join(strings.Fields(block), " "), "|") {
			for _, sentence := range endOf.Split(strings.TrimSpace(cell), -1) {
				if sentence != "" {
					all = append(all, sentence)
				}
			}
		}
	}
	return all
}

// The rules are those of vale, which need not be there to hold them. CONTRIBUTING.md says how to run it.
func TestThePagesKeepTheStyle(t *testing.T) {
	rules := style(t)
	long := "Fairlead" + strings.Repeat(" waits", 30) + "."
	for text, want := range map[string]int{
		long: 1, long[:len(long)-7] + ".": 0, "Two words. " + long: 1, "| a | " + long + " |": 1,
		"A list, of which one is new.": 1, "It is not known whether it is.": 1, "The user is told.": 1, "What it is asked for.": 1,
		"```text\nof which\n```\n": 0, "See `of which`.": 0, "A [page](of-which.md) is there.": 0, "The former primary is a replica.": 0,
	} {
		if found := styled(rules, text); len(found) != want {
			t.Errorf("%q: found %v: the search is broken", text, found)
		}
	}
	_, list, found := strings.Cut(read(t, ".vale.ini"), "\n[{")
	list, _, ended := strings.Cut(list, "}]\n")
	if !found || !ended {
		t.Fatal(".vale.ini lists no pages that are left out")
	}
	left, seen := strings.Split(list, ","), 0
	for page, text := range pages(t) {
		if matchesAny(t, left, page) {
			continue
		}
		seen++
		for _, problem := range styled(rules, text) {
			t.Errorf("%s: %s", page, problem)
		}
	}
	if seen < 50 {
		t.Errorf("read %d pages: the search is broken", seen)
	}
}

func matchesAny(t *testing.T, patterns []string, name string) bool {
	t.Helper()
	for _, pattern := range patterns {
		matches, err := path.Match(pattern, name)
		if err != nil {
			t.Fatal(err)
		}
		if matches {
			return true
		}
	}
	return false
}
