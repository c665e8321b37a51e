// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the reference page")

// The reference of the rules is made from the checks: run the test with -update to write it.
func TestTheReferenceListsEveryRule(t *testing.T) {
	const path = "../../../docs/reference/rules.md"
	var page strings.Builder
	page.WriteString("# Rules of fairlead vet\n\n" +
		"`go test ./cmd/fairlead/vet -run Reference -update` writes this page. An id stays the same from release to release. `--disable` takes ids and the words of the second column, and so do comments: see [Checking manifests](../guides/vet.md#excluding-files-and-rules).\n\n" +
		"| id | word | what holds where nothing is found |\n| --- | --- | --- |\n")
	for _, c := range Checks() {
		fmt.Fprintf(&page, "| <a id=\"%s\"></a>%s | `%s` | %s |\n", strings.ToLower(c.ID), c.ID, c.Rule, c.Text)
	}
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(content), page.String()); diff != "" {
		t.Errorf("%s is not what the checks say; run: go test ./cmd/fairlead/vet -run Reference -update (-file +checks):\n%s", path, diff)
	}
}

func TestEachMessageHasTheIDOfItsRule(t *testing.T) {
	for message, want := range map[string]string{
		`"1d": must be a duration such as 30s, 5m or 1h30m: one to four numbers of at most five digits, each with its unit h, m, s or ms`: "FL1210",
		`durations need a unit: write "10s"`:                                        "FL1202",
		`"a/b": must be a DNS name: leave out scheme and path`:                      "FL1207",
		`"10.0.0.0/24": must be an IP address: a range cannot be listed`:            "FL1208",
		`minute "61": takes 0-59, *, lists, ranges and steps`:                       "FL1209",
		`unknown time zone "Europe/Zurick": use an IANA name such as Europe/Zurich`: "FL1209",
		"is required; add it":                                "FL1201",
		"must have at least 1 item":                          "FL1201",
		`trigger "c" is used by triggers[1] and triggers[2]`: "FL1205",
		"timeout must not exceed interval":                   "FL1213",
		"failover needs healthCheck":                         "FL1212",
		"must be printable ASCII without spaces":             "FL1299",
	} {
		for _, rule := range []Rule{RuleSchema, RuleValid} {
			if got := identify(&Finding{Rule: rule, Message: message}); got != want {
				t.Errorf("%s has the id %s, want %s", message, got, want)
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range Checks() {
		if seen[c.ID] {
			t.Errorf("%s is given twice", c.ID)
		}
		seen[c.ID] = true
	}
	for _, rule := range []Rule{
		RuleSyntax, RuleDuplicateKey, RuleAPIVersion, RuleMetadata, RuleUnknownField, RuleSchema, RuleConversion,
		RuleAdvice, RuleOverlap, RuleTwice, RuleStorage, RuleIgnore, RuleUnchecked, RuleInternal,
	} {
		if identify(&Finding{Rule: rule}) == "" {
			t.Errorf("findings of rule %s may have no id", rule)
		}
	}
}
