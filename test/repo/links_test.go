// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	fence   = regexp.MustCompile("(?ms)^ *```([a-z]*)[^\n]*\n(.*?)^ *```$")
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
func brokenLinks(root fs.FS, all map[string]string, page string) []string {
	var broken []string
	prose := span.ReplaceAllString(fence.ReplaceAllString(all[page], ""), "")
	for _, l := range link.FindAllStringSubmatch(prose, -1) {
		target, section, _ := strings.Cut(l[1], "#")
		if strings.Contains(target, ":") {
			continue // of another site
		}
		file := page
		if target != "" {
			file = path.Join(path.Dir(page), target)
		}
		if _, err := fs.Stat(root, file); err != nil && all[file] == "" {
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
	root, all := os.DirFS(repository(t)), pages(t)
	for text, want := range map[string]int{
		"[a](none.md)": 1, "[a](#a-1) [b](#a-2)": 1, "[a](docs)": 0, "[a](#nothing)": 1,
		"[a](https://example.com/none.md), `[a](none.md)`": 0, "[a](README.md#install)": 0,
	} {
		all["test.md"] = "# A\n\n## A\n\n" + text
		if got := brokenLinks(root, all, "test.md"); len(got) != want {
			t.Errorf("%s: found %v: the search is broken", text, got)
		}
	}
	delete(all, "test.md")
	for page := range all {
		for _, problem := range brokenLinks(root, all, page) {
			t.Errorf("%s: %s", page, problem)
		}
	}
}

func TestEachPageIsLinkedFromTheIndex(t *testing.T) {
	all := pages(t)
	for folder, index := range map[string]string{
		"docs/guides": "docs/README.md", "docs/reference": "docs/reference/README.md",
		"docs/reference/api": "docs/reference/README.md", "docs/decisions": "docs/decisions/README.md",
	} {
		for page := range all {
			target := strings.TrimPrefix(page, path.Dir(index)+"/")
			if path.Dir(page) == folder && page != index && !strings.Contains(all[index], "("+target) {
				t.Errorf("%s does not link %s", index, page)
			}
		}
	}
}

func TestTheDocumentationNamesTargetsOfMakeThatExist(t *testing.T) {
	targets := map[string]bool{}
	for _, rule := range regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[rule[1]] = true
	}
	call := regexp.MustCompile(`(?m)(?:^|[\x60$&;|] ?|\bthen )make ((?:[A-Z]+=\S* )*)([a-z][a-z0-9-]*)`)
	found := 0
	for file, page := range pages(t) {
		if file == "CHANGELOG.md" {
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
				t.Errorf("%s: the Makefile has no target %s", file, m[2])
			}
		}
	}
	if found < 15 {
		t.Errorf("found %d calls of make: the search is broken", found)
	}
}
