// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The ways in which the code names the reason of an event.
var eventReasons = []*regexp.Regexp{
	regexp.MustCompile(`Message\{Reason: "([A-Z]\w+)"`),
	regexp.MustCompile(`Reason: "([A-Z]\w+)", Action:`),
	regexp.MustCompile(`EventType(?:Warning|Normal), "([A-Z]\w+)"`),
	regexp.MustCompile(`\bevent[A-Z]\w*\s*=\s*"([A-Z]\w+)"`),
	regexp.MustCompile(`\breason(?:Elected|Stopped|Stuck)\s*=\s*"([A-Z]\w+)"`),
}

// documentedReason is the first column of a table of events.
var documentedReason = regexp.MustCompile("^\\| `([A-Z]\\w+)` \\|")

func TestTheReferenceListsTheEventsThatTheCodeWrites(t *testing.T) {
	written, source := map[string]string{}, strings.Builder{}
	for _, folder := range []string{"../cmd", "../controllers", "../internal", "../certs", "../webhooks"} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			source.Write(content)
			for _, form := range eventReasons {
				for _, found := range form.FindAllStringSubmatch(string(content), -1) {
					written[found[1]] = path
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, known := range []string{"LeaderElected", "StorageMigrated", "FailedOver", "RestartHeld", "Undecodable"} {
		if written[known] == "" {
			t.Errorf("found no event %s in the code: the search is broken", known)
		}
	}
	delete(written, "TriggerFired") // controllers/rebootpolicy makes no event of this message: it is in the message of the restart
	content, err := os.ReadFile("../docs/reference/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	documented, events := map[string]bool{}, false
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "#") {
			events = strings.Contains(line, "Events") || strings.Contains(line, "The operator")
		}
		if found := documentedReason.FindStringSubmatch(line); events && found != nil {
			documented[found[1]] = true
			if !strings.Contains(source.String(), `"`+found[1]+`"`) {
				t.Errorf("docs/reference/conditions.md tells of the event %s, which no code writes", found[1])
			}
		}
	}
	for reason, path := range written {
		if !documented[reason] {
			t.Errorf("docs/reference/conditions.md does not tell of the event %s, which %s writes", reason, path)
		}
	}
}
