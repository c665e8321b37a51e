// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

// Severity of a finding.
type Severity string

// An Error is what a cluster would refuse, or lose. A Warning is what it would accept and is
// probably not meant.
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
	RuleIgnore       Rule = "ignore-comment"
	RuleUnchecked    Rule = "unchecked"
	RuleInternal     Rule = "internal"
)

// RuleText is a rule and one sentence about it.
type RuleText struct {
	Rule Rule
	Text string
}

// Rules lists all rules, in the order in which they are checked.
func Rules() []RuleText {
	return []RuleText{
		{RuleSyntax, "The document can be read as YAML or JSON."},
		{RuleDuplicateKey, "No key is given twice."},
		{RuleAPIVersion, "The kind exists and is served at this version."},
		{RuleMetadata, "The metadata is what Kubernetes takes."},
		{RuleUnknownField, "Every field exists in the schema."},
		{RuleSchema, "The object fits the schema and the CEL rules of its definition."},
		{RuleValid, "The object passes the rules of the validating webhook."},
		{RuleConversion, "The object survives every served version and back."},
		{RuleAdvice, "What the webhook would warn of."},
		{RuleOverlap, "No other object acts on the same workload."},
		{RuleTwice, "No object is given twice."},
		{RuleStorage, "What a cluster keeps of the object fits the versions that it serves."},
		{RuleIgnore, "A comment fairlead:ignore names ids that exist."},
		{RuleUnchecked, "No error keeps further rules from being checked."},
		{RuleInternal, "Internal error in the checker."},
	}
}

// Finding is one thing to look at.
type Finding struct {
	Severity Severity `json:"severity"`
	// ID is that of the Check.
	ID   string `json:"id"`
	Rule Rule   `json:"rule"`
	// Line and Column of the field, or of the nearest one above it that is there; from 1, and 0 for
	// what was read from a cluster.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Field is named as at the version that the object is written at; "" for the whole object.
	Field string `json:"field,omitempty"`
	// StoredField is the field of v1, where that has no counterpart at the written version.
	StoredField string `json:"storedField,omitempty"`
	// Message says what is wrong and what to do about it.
	Message string `json:"message"`
}

// Object is what was checked, and found. A document that cannot be read has no kind.
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
	// Cluster is what was read; "" where files were.
	Cluster string `json:"cluster,omitempty"`
	Files   int    `json:"files"`
	// Skipped counts files that were not read: excluded ones, patches and templates.
	Skipped int `json:"skipped,omitempty"`
	// Documents counts what was read, of whatever kind, and Ignored those of them that a comment keeps
	// from being checked.
	Documents int `json:"documents"`
	Ignored   int `json:"ignored,omitempty"`
	// Objects of Fairlead's kinds, which were checked.
	Objects int `json:"objects"`
	// PassedOver counts documents, and items of lists, of other kinds.
	PassedOver int `json:"passedOver"`
	Errors     int `json:"errors"`
	Warnings   int `json:"warnings"`
	// Restored counts the objects of which another version cannot say all, so that it carries the rest
	// in an annotation, and LargestRestore is the size of the largest, in bytes. Both count where
	// objects of a cluster were read.
	Restored       int `json:"restored,omitempty"`
	LargestRestore int `json:"largestRestore,omitempty"`
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
	s.Restored += other.Restored
	s.LargestRestore = max(s.LargestRestore, other.LargestRestore)
}
