// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/api/common"
)

// kindsOfPages are the kinds that pages are about. Their Events are those of these kinds, and of the operator.
var kindsOfPages = map[string][]string{
	"docs/guides/chaos":             {"ChaosPod"},
	"docs/guides/external-services": {"ExternalService"},
	"docs/guides/game-days":         {"ExternalService", "RebootPolicy", "ChaosPod"},
	"docs/guides/lost-pods":         {"ChaosPod"},
	"docs/guides/restart":           {"RebootPolicy", "ClusterRebootPolicy"},
	"docs/guides/rotated":           {"RebootPolicy"},
}

var (
	namedEvent    = regexp.MustCompile("\\b[Ee]vents? ((?:`[A-Z][A-Za-z]+`(?:, | and | or )?)+)")
	notifiedEvent = regexp.MustCompile(`(?m)^ *reasons: \[([A-Za-z, ]+)\]`)
	reasonWord    = regexp.MustCompile(`[A-Z][A-Za-z]+`)
)

// An Event that is documented and never written is waited for in vain, and an alert on it stays silent.
func TestThePagesNameEventsThatAreWritten(t *testing.T) {
	example := "The event `Aa` and the Events `Bb`, `Cc` say so; `Dd` is a reason.\nreasons: [Ee, Ff]"
	if got := eventsIn(example); strings.Join(got, " ") != "Aa Bb Cc Ee Ff" {
		t.Fatalf("found %v: the search is broken", got)
	}
	written := map[string][]string{} // the kinds that write an Event
	for _, of := range tables {
		for _, row := range of.rows {
			if strings.Contains(row.On, "Event=") {
				for name := range strings.FieldsSeq(row.Name) {
					written[name] = append(written[name], of.kind)
				}
			}
		}
	}
	seen := 0
	for page, text := range pages(t) {
		for _, name := range eventsIn(text) {
			seen++
			of := written[name]
			if len(of) == 0 {
				t.Errorf("%s: no kind writes an Event %s", page, name)
				continue
			}
			for prefix, kinds := range kindsOfPages {
				if strings.HasPrefix(page, prefix) && !slices.ContainsFunc(append(kinds, "operator"), func(k string) bool { return slices.Contains(of, k) }) {
					t.Errorf("%s: only %s writes an Event %s", page, strings.Join(of, " and "), name)
				}
			}
		}
	}
	if seen < 15 {
		t.Errorf("found %d Events: the search is broken", seen)
	}
}

func eventsIn(text string) (names []string) {
	for _, match := range append(namedEvent.FindAllStringSubmatch(text, -1), notifiedEvent.FindAllStringSubmatch(text, -1)...) {
		names = append(names, reasonWord.FindAllString(match[1], -1)...)
	}
	return names
}

var labelCommand = regexp.MustCompile(`(?m)^\$ kubectl (?:-n \S+ )?label (\S+) (.+)$`)

// The label fault is read from pods. A namespace passes it on only by the policy of config/local.
func TestThePagesLabelWhatTheLabelIsReadFrom(t *testing.T) {
	const policy = "kubectl apply -f config/local/faults.yaml"
	for text, want := range map[string]bool{
		"$ kubectl label namespace shop fault=unready":                      true,
		"$ " + policy + "\n$ kubectl label namespace shop fault=unready":    false,
		"$ kubectl label namespace shop fault=unready\n$ " + policy:         true,
		"$ kubectl -n shop label pod web-0 fault=unready":                   false,
		"$ kubectl -n shop label deployment web fault=unready":              true,
		"$ kubectl label namespace shop metrics=enabled":                    false,
		"$ kubectl label namespace shop fault-":                             false,
		"$ kubectl -n shop label pods -l app=web fault=unready --overwrite": false,
	} {
		if got := mislabelled(text, policy) != ""; got != want {
			t.Errorf("%q: %t: the search is broken", text, got)
		}
	}
	for page, text := range pages(t) {
		if command := mislabelled(text, policy); command != "" {
			t.Errorf("%s: %s does nothing: pods have the label, or a namespace after %q", page, command, policy)
		}
	}
}

// mislabelled returns a command that sets the label fault where nothing reads it.
func mislabelled(text, policy string) string {
	for _, at := range labelCommand.FindAllStringSubmatchIndex(text, -1) {
		kind, rest := strings.TrimSuffix(text[at[2]:at[3]], "s"), text[at[4]:at[5]]
		passesOn := kind == "namespace" && strings.Contains(text[:at[0]], policy)
		if strings.Contains(rest, "fault=") && kind != "pod" && !passesOn {
			return text[at[0]:at[1]]
		}
	}
	return ""
}

// A container's probe has periodSeconds. While a check has not, its manifest cannot be copied, and no page may say so.
func TestThePagesSayOfNoManifestThatItCanBeCopied(t *testing.T) {
	check := reflect.TypeFor[common.Check]()
	for i := range check.NumField() {
		if strings.HasPrefix(check.Field(i).Tag.Get("json"), "periodSeconds") {
			t.Fatal("a check has the times of a container's probe: remove this test")
		}
	}
	copied := regexp.MustCompile(`[^.]*\bprobes?\b[^.]*\bcop(?:y|ied)\b[^.]*\.`)
	if !copied.MatchString("It has the members of a probe, so that one can be copied.") {
		t.Fatal("the search is broken")
	}
	for page, text := range pages(t) {
		if found := copied.FindString(span.ReplaceAllString(fence.ReplaceAllString(text, ""), "")); found != "" && page != "CHANGELOG.md" {
			t.Errorf("%s: %s", page, strings.TrimSpace(found))
		}
	}
}
