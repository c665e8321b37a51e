// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Severity of a finding.
type Severity string

// An Error is what a cluster would refuse, or lose. A Warning is what it would accept and is probably a mistake.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Rule is a stable word for what a finding is about.
type Rule string

// The rules.
const (
	RuleSyntax       Rule = "syntax"
	RuleDuplicateKey Rule = "duplicate-key"
	RuleAPIVersion   Rule = "api-version"
	RuleMetadata     Rule = "metadata"
	RuleUnknownField Rule = "unknown-field"
	RuleSchema       Rule = "schema"
	RuleValid        Rule = "rule"
	RuleConversion   Rule = "conversion"
	RuleAdvice       Rule = "advice"
	RuleOverlap      Rule = "overlap"
	RuleTwice        Rule = "duplicate-object"
	RuleStorage      Rule = "storage"
	RuleOperator     Rule = "configuration"
	RuleIgnore       Rule = "ignore-comment"
	RuleUnchecked    Rule = "unchecked"
	RuleInternal     Rule = "internal"
)

// Finding is one thing to look at.
type Finding struct {
	Severity Severity `json:"severity"`
	// ID is the Check's.
	ID   string `json:"id"`
	Rule Rule   `json:"rule"`
	// Line and Column of the field, or of the nearest one above it that is there; from 1, and 0 for
	// what was read from a cluster.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Field is named as at the version that the object is written at; "" for the whole object.
	Field string `json:"field,omitempty"`
	// Message describes the fault and its remedy.
	Message string `json:"message"`
}

// Object is a checked object with its findings. A document that cannot be read has no kind.
type Object struct {
	File string `json:"file"`
	// Document counts the documents of the file, from 1. Those without content do not count.
	Document   int       `json:"document"`
	Line       int       `json:"line"`
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name,omitempty"`
	Findings   []Finding `json:"findings"`
}

// Label is the kind, namespace and name.
func (o *Object) Label() string {
	label := o.Kind
	switch {
	case label == "":
		return "document"
	case o.Namespace != "" && o.Name != "":
		return label + " " + o.Namespace + "/" + o.Name
	case o.Name != "":
		return label + " " + o.Name
	}
	return label
}

// Summary counts.
type Summary struct {
	// Cluster names the cluster that was read. It is "" if files were read.
	Cluster string `json:"cluster,omitempty"`
	Files   int    `json:"files"`
	// Skipped counts files that were not read: excluded ones, patches and templates.
	Skipped int `json:"skipped,omitempty"`
	// Documents counts what was read, of whatever kind, and Ignored those of them that a comment keeps
	// from being checked.
	Documents int `json:"documents"`
	Ignored   int `json:"ignored,omitempty"`
	// Objects of Fairlead's kinds and configurations of the operator, which were checked.
	Objects int `json:"objects"`
	// PassedOver counts documents, and items of lists, of other kinds.
	PassedOver int `json:"passedOver"`
	Errors     int `json:"errors"`
	Warnings   int `json:"warnings"`
}

// Add adds another summary.
func (s *Summary) Add(other Summary) {
	s.Files += other.Files
	s.Skipped += other.Skipped
	s.Documents += other.Documents
	s.Ignored += other.Ignored
	s.Objects += other.Objects
	s.PassedOver += other.PassedOver
	s.Errors += other.Errors
	s.Warnings += other.Warnings
}

// Check identifies the subject of a finding, by an id that stays the same from release to release.
type Check struct {
	// ID is FL and four digits. An id is never given to another check.
	ID string
	// Rule is the wider word that the check belongs to.
	Rule Rule
	// Text states the condition that holds if there is no finding.
	Text string
	// message matches the messages of the check; nil for the remaining ones of its rule.
	message *regexp.Regexp
}

// Pages describes the checks; the fragment of each is its id in lower case.
const Pages = "https://github.com/fairlead-dev/fairlead/blob/main/docs/reference/rules.md"

// Page returns the URL of the description of the check.
func (c Check) Page() string { return Pages + "#" + strings.ToLower(c.ID) }

// Known returns the check of an id; false where there is none.
func Known(id string) (Check, bool) {
	i := slices.IndexFunc(checks, func(c Check) bool { return strings.EqualFold(c.ID, id) })
	if i < 0 {
		return Check{}, false
	}
	return checks[i], true
}

// Checks lists all checks by id.
func Checks() []Check { return slices.Clone(checks) }

// checks are in the order of the comparison: a finding has the first check of its rule whose message matches. The
// checks of the schema and of the webhook's rules are the same: most rules are in both.
var checks = []Check{
	{"FL1001", RuleSyntax, "The document is rendered, and no template.", regexp.MustCompile(`looks like a Helm template`)},
	{"FL1002", RuleSyntax, "The document can be read as YAML or JSON.", nil},
	{"FL1003", RuleDuplicateKey, "No key is given twice.", nil},
	{"FL1004", RuleIgnore, "A comment fairlead:ignore names ids that exist.", nil},
	{"FL1101", RuleAPIVersion, "The kind exists and is served at this version.", nil},
	{"FL1102", RuleMetadata, "The metadata is valid in Kubernetes.", nil},
	{"FL1103", RuleUnknownField, "Every field exists in the schema.", nil},
	{"FL1201", RuleSchema, "Required fields are present and not empty.", regexp.MustCompile(`is required|must not be empty|must have at least|name at least one label`)},
	{"FL1202", RuleSchema, "Values have the type that the schema says.", regexp.MustCompile(`must be (a|an) (string|integer|number|boolean|object|list|null), not|need a unit|of the wrong type|must be a whole number$`)},
	{"FL1203", RuleSchema, "A value is one of those that are supported.", regexp.MustCompile(`is not supported`)},
	{"FL1204", RuleSchema, "Texts, lists and maps are not too long.", regexp.MustCompile(`too long|too many|must have at most|at most \d+ characters`)},
	{"FL1205", RuleSchema, "Items of a list have different keys.", regexp.MustCompile(`is used by|is listed twice|must be unique|may be listed once`)},
	{"FL1206", RuleSchema, "Names, addresses and labels are allowed.", regexp.MustCompile(`not allowed|is reserved`)},
	{"FL1207", RuleSchema, "A DNS name can be looked up.", regexp.MustCompile(`DNS name|use addresses for an IP|last label`)},
	{"FL1208", RuleSchema, "An IP address is one, in canonical form.", regexp.MustCompile(`IP address|canonical form`)},
	{"FL1209", RuleSchema, "A schedule can be read, fires, and has a time zone that exists.", regexp.MustCompile(`takes \d|five fields|time zone|timeZone|there is no @|@every|a step is|a range goes|fires at no time|Local`)},
	{"FL1210", RuleSchema, "A duration has a unit, and is within its bounds.", regexp.MustCompile(`must be a duration|duration must be|greater than 0|must be at least [0-9.]+(ms|s|m|h)`)},
	{"FL1211", RuleSchema, "A number is within its bounds.", regexp.MustCompile(`must be between|whole number between|percentage|must be (greater|less) than|must not be negative`)},
	{"FL1212", RuleSchema, "Fields that exclude or need each other are set together, or not.", regexp.MustCompile(`set exactly one|set one of|exclude each other|go together|goes with|needs? |must name one|name the TCP port`)},
	{"FL1213", RuleSchema, "Of two values that are compared, the right one is larger.", regexp.MustCompile(`must not exceed|must not be below`)},
	{"FL1299", RuleSchema, "The object passes the other rules of its definition and of the validating webhook.", nil},
	{"FL1301", RuleConversion, "The object can be converted to v1.", nil},
	{"FL1401", RuleStorage, "The stored object fits the versions that the cluster serves.", nil},
	{"FL1501", RuleOverlap, "No other object acts on the same workload.", nil},
	{"FL1502", RuleTwice, "No object is given twice.", nil},
	{"FL1602", RuleAdvice, "A headless Service translates no ports.", regexp.MustCompile(`headless`)},
	{"FL1603", RuleAdvice, "A DNS name is a full one.", regexp.MustCompile(`search path`)},
	{"FL1604", RuleAdvice, "An address is listed in one endpoint.", regexp.MustCompile(`is also listed`)},
	{"FL1605", RuleAdvice, "Some endpoint is not Drained.", regexp.MustCompile(`Drained`)},
	{"FL1606", RuleAdvice, "A health check verifies the certificate that it is shown.", regexp.MustCompile(`any certificate|insecureSkipVerify`)},
	{"FL1607", RuleAdvice, "A probe asks a host outside the cluster, or the pods themselves.", regexp.MustCompile(`inside the cluster`)},
	{"FL1608", RuleAdvice, "A trigger is supported, so that it can fire.", regexp.MustCompile(`not supported yet`)},
	{"FL1609", RuleAdvice, "A number lets something happen.", regexp.MustCompile(`never (evicts|restarts|kills|allows a kill)`)},
	{"FL1610", RuleAdvice, "A field has an effect at v1.", regexp.MustCompile(`ignored by v1`)},
	{"FL1611", RuleAdvice, "A force delete does not touch a StatefulSet.", regexp.MustCompile(`force delete`)},
	{"FL1612", RuleAdvice, "Windows and blackouts let something begin.", regexp.MustCompile(`cover all of spec\.windows|forbid ten runs`)},
	{"FL1699", RuleAdvice, "The webhook warns of nothing else.", nil},
	{"FL1701", RuleOperator, "The operator starts with its configuration.", nil},
	{"FL1901", RuleUnchecked, "No error keeps further rules from being checked.", nil},
	{"FL1902", RuleInternal, "Internal error in the checker.", nil},
}

// Identify sets the id of a finding.
func Identify(f *Finding) { f.ID = identify(f) }

// identify returns the id of a finding.
func identify(f *Finding) string {
	rule := f.Rule
	if rule == RuleValid {
		rule = RuleSchema
	}
	for i := range checks {
		if c := &checks[i]; c.Rule == rule && (c.message == nil || c.message.MatchString(f.Message)) {
			return c.ID
		}
	}
	return ""
}

// Disabled reads a list of ids and of rules. A rule means all its ids.
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
