// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
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
	for file, content := range code(t) {
		source.WriteString(content)
		for _, form := range eventReasons {
			for _, found := range form.FindAllStringSubmatch(content, -1) {
				written[found[1]] = file
			}
		}
	}
	for _, known := range []string{"LeaderElected", "FailedOver", "RestartWaiting", "Undecodable"} {
		if written[known] == "" {
			t.Errorf("found no event %s in the code: the search is broken", known)
		}
	}
	delete(written, "TriggerFired") // controllers/rebootpolicy makes no event of this message: it is in the message of the restart
	documented, events := map[string]bool{}, false
	for line := range strings.Lines(read(t, "docs/reference/conditions.md")) {
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
	for reason, file := range written {
		if !documented[reason] {
			t.Errorf("docs/reference/conditions.md does not tell of the event %s, which %s writes", reason, file)
		}
	}
}
