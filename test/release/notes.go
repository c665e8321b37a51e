// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// notes are the lines of the changelog about a version, without their heading. A version before the first
// release of its number, such as v0.1.0-rc.1, may have them under "Unreleased"; so has what has no number. Links to files lead to
// those of the version, since a release is shown at an address of its own.
func notes(changelog, of string) (string, error) {
	section := func(name string) (string, bool) {
		var lines []string
		found := false
		for line := range strings.Lines(changelog) {
			if heading, is := strings.CutPrefix(line, "## "); is {
				if found {
					break
				}
				heading, _, _ = strings.Cut(strings.TrimSpace(heading), " ") // a date may follow
				found = strings.Trim(heading, "[]") == name
				continue
			}
			if found {
				lines = append(lines, line)
			}
		}
		return strings.TrimSpace(strings.Join(lines, "")), found
	}
	text, found := section(strings.TrimPrefix(of, "v"))
	if !found {
		parsed, err := version.ParseSemantic(of)
		if err == nil && parsed.PreRelease() == "" {
			return "", fmt.Errorf("CHANGELOG.md: no section %q; give what is under \"Unreleased\" that heading", "## "+strings.TrimPrefix(of, "v"))
		}
		text, _ = section("Unreleased")
	}
	if text == "" {
		return "", fmt.Errorf("CHANGELOG.md: nothing about %s; write what a user would notice", of)
	}
	return relative.ReplaceAllString(text, "](https://"+module+"/blob/"+of+"/$1)") + "\n", nil
}

// relative is a link to a file of the repository.
var relative = regexp.MustCompile(`\]\(([^():#][^():]*)\)`)
