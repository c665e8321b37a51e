// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Check is what a finding is about, by an id that stays the same from release to release.
type Check struct {
	// ID is FL and four digits. An id is never given to another check.
	ID string
	// Rule is the wider word that the check belongs to.
	Rule Rule
	// Text says what holds where nothing is found.
	Text string
	// says tells the messages of the check from others of its rule; nil for what remains.
	says *regexp.Regexp
}

// Pages is where the checks are described: an id in lower case behind # leads to one.
const Pages = "https://github.com/fairlead-dev/fairlead/blob/main/docs/reference/rules.md"

// Page is where the check is described.
func (c Check) Page() string { return Pages + "#" + strings.ToLower(c.ID) }

// Known is the check of an id; false where there is none.
func Known(id string) (Check, bool) {
	i := slices.IndexFunc(checks, func(c Check) bool { return strings.EqualFold(c.ID, id) })
	if i < 0 {
		return Check{}, false
	}
	return checks[i], true
}

// Checks lists all checks by id.
func Checks() []Check { return slices.Clone(checks) }

// checks are in the order in which a finding is compared with them: the first of its rule whose messages
// it has is meant. Those of the schema and of the webhook's rules are the same checks: most rules are
// in the definition too.
var checks = []Check{
	{"FL1001", RuleSyntax, "The document is no template, but what a template renders to.", regexp.MustCompile(`looks like a Helm template`)},
	{"FL1002", RuleSyntax, "The document can be read as YAML or JSON.", nil},
	{"FL1003", RuleDuplicateKey, "No key is given twice.", nil},
	{"FL1004", RuleIgnore, "A comment fairlead:ignore names ids that exist.", nil},
	{"FL1101", RuleAPIVersion, "The kind exists and is served at this version.", nil},
	{"FL1102", RuleMetadata, "The metadata is what Kubernetes takes.", nil},
	{"FL1103", RuleUnknownField, "Every field exists in the schema.", nil},
	{"FL1201", RuleSchema, "What is required is there, and is not empty.", regexp.MustCompile(`is required|must not be empty|must have at least|name at least one label`)},
	{"FL1202", RuleSchema, "Values have the type that the schema says.", regexp.MustCompile(`must be (a|an) (string|integer|number|boolean|object|list|null), not|need a unit|of the wrong type|must be a whole number$`)},
	{"FL1203", RuleSchema, "A value is one of those that are supported.", regexp.MustCompile(`is not supported`)},
	{"FL1204", RuleSchema, "Texts, lists and maps are not too long.", regexp.MustCompile(`too long|too many|must have at most|at most \d+ characters`)},
	{"FL1205", RuleSchema, "Items of a list differ in what tells them apart.", regexp.MustCompile(`is used by|is listed twice|must be unique|may be listed once|same number`)},
	{"FL1206", RuleSchema, "Names, addresses and labels are allowed.", regexp.MustCompile(`not allowed|is reserved`)},
	{"FL1207", RuleSchema, "A DNS name can be looked up.", regexp.MustCompile(`DNS name|use addresses for an IP|last label`)},
	{"FL1208", RuleSchema, "An IP address is one, in canonical form.", regexp.MustCompile(`IP address|canonical form`)},
	{"FL1209", RuleSchema, "A schedule can be read, fires, and has a time zone that exists.", regexp.MustCompile(`takes \d|five fields|time zone|timeZone|there is no @|@every|a step is|a range goes|fires at no time|Local`)},
	{"FL1210", RuleSchema, "A duration has a unit, and is within its bounds.", regexp.MustCompile(`must be a duration|292 years|duration must be|greater than 0|must be at least [0-9.]+(ms|s|m|h)`)},
	{"FL1211", RuleSchema, "A number is within its bounds.", regexp.MustCompile(`must be between|whole number between|percentage|must be (greater|less) than|must not be negative`)},
	{"FL1212", RuleSchema, "Fields that exclude or need each other are set together, or not.", regexp.MustCompile(`set exactly one|set one of|exclude each other|go together|goes with|needs? |must name one|name the TCP port`)},
	{"FL1213", RuleSchema, "Of two values that are compared, the right one is larger.", regexp.MustCompile(`must not exceed|must not be below`)},
	{"FL1299", RuleSchema, "The object passes the other rules of its definition and of the validating webhook.", nil},
	{"FL1301", RuleConversion, "The object survives every served version and back.", nil},
	{"FL1401", RuleStorage, "What a cluster keeps of the object fits the versions that it serves.", nil},
	{"FL1501", RuleOverlap, "No other object acts on the same workload.", nil},
	{"FL1502", RuleTwice, "No object is given twice.", nil},
	{"FL1602", RuleAdvice, "A headless Service translates no ports.", regexp.MustCompile(`headless`)},
	{"FL1603", RuleAdvice, "A DNS name is a full one.", regexp.MustCompile(`search path`)},
	{"FL1604", RuleAdvice, "An address is listed in one endpoint.", regexp.MustCompile(`is also listed`)},
	{"FL1605", RuleAdvice, "Some endpoint is not Drained.", regexp.MustCompile(`Drained`)},
	{"FL1606", RuleAdvice, "A health check verifies the certificate that it is shown.", regexp.MustCompile(`any certificate|insecureSkipVerify`)},
	{"FL1607", RuleAdvice, "A probe asks a host outside the cluster, or the pods themselves.", regexp.MustCompile(`inside the cluster`)},
	{"FL1608", RuleAdvice, "A trigger is supported, so that it can fire.", regexp.MustCompile(`not supported yet`)},
	{"FL1609", RuleAdvice, "A number lets something happen.", regexp.MustCompile(`never (evicts|restarts|kills)`)},
	{"FL1610", RuleAdvice, "A field has an effect at v1.", regexp.MustCompile(`ignored by v1`)},
	{"FL1611", RuleAdvice, "A force delete does not touch a StatefulSet.", regexp.MustCompile(`force delete`)},
	{"FL1699", RuleAdvice, "The webhook warns of nothing else.", nil},
	{"FL1901", RuleUnchecked, "No error keeps further rules from being checked.", nil},
	{"FL1902", RuleInternal, "Internal error in the checker.", nil},
}

// Identify gives a finding the id of its check.
func Identify(f *Finding) { f.ID = identify(f) }

// identify returns the id of a finding.
func identify(f *Finding) string {
	rule := f.Rule
	if rule == RuleValid {
		rule = RuleSchema
	}
	for i := range checks {
		if c := &checks[i]; c.Rule == rule && (c.says == nil || c.says.MatchString(f.Message)) {
			return c.ID
		}
	}
	return ""
}

// Disabled reads a list of ids, and of the words of rules, which are all ids of the rule.
func Disabled(names []string) (map[string]bool, error) {
	off := map[string]bool{}
	for _, name := range names {
		found := false
		if name == string(RuleValid) {
			name = string(RuleSchema) // whose checks they share
		}
		for _, c := range checks {
			if c.Rule != RuleInternal && (strings.EqualFold(c.ID, name) || string(c.Rule) == name) {
				off[c.ID], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no rule %q; %s lists them", name, Pages)
		}
	}
	return off, nil
}
