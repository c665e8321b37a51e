// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
)

// maxFindings bounds the findings of an object: beyond, they are not read.
const maxFindings = 100

// objectCheck is the check of one object.
type objectCheck struct {
	result
	node    *manifest.Node
	version string // at which it is written
	data    map[string]any
	served  []string // by the cluster that has stored it; nil where none has
	// template is the message for a value that is a template; "" where the text has none.
	template string
	// reported are the fields that the schema check has reported, with its messages.
	reported map[string][]string
	// unusable are those of them that are missing, or of another type: nothing within them is reported.
	unusable map[string]bool
	// mistyped are the fields of another type, with the type that they must have.
	mistyped map[string]string
}

// run checks in the order of a cluster. A step that cannot work with what the steps before it found is skipped
// until that is corrected.
func (c *objectCheck) run(ctx context.Context) {
	c.reported, c.unusable, c.mistyped = map[string][]string{}, map[string]bool{}, map[string]string{}
	c.node.AllProblems(func(path string, p manifest.Problem) {
		if c.template != "" && p.Rule == string(RuleSyntax) {
			p.Message = c.template
		}
		c.addFinding(Finding{Severity: Error, Rule: Rule(p.Rule), Line: p.Line, Column: p.Column, Field: path, Message: p.Message})
	})
	definition, err := c.kind.definition()
	if err != nil {
		c.add(RuleInternal, "", err.Error())
		return
	}
	if served := definition.Versions(); !slices.Contains(served, c.version) {
		c.add(RuleAPIVersion, "apiVersion", fmt.Sprintf("%s is not served at %q; use %s/%s", c.Kind, c.version, c.kind.Group, hub))
		return
	}
	data, ok := c.node.Data().(map[string]any)
	if !ok {
		return
	}
	c.data = data
	c.data["apiVersion"], c.data["kind"] = c.APIVersion, c.Kind
	defer c.limit()
	c.checkStored()
	c.checkMetadata()
	c.checkSchema(ctx, definition)
	c.checkRules()
	c.reportTemplates()
}

// reportTemplates replaces the findings of values that are templates by one about that.
func (c *objectCheck) reportTemplates() {
	if c.template == "" {
		return
	}
	reported := map[string]bool{}
	for i := range c.Findings {
		if f := &c.Findings[i]; f.Message == c.template {
			reported[f.Field] = true // the value is no text, such as {{ .Values.x }}
		}
	}
	c.Findings = slices.DeleteFunc(c.Findings, func(f Finding) bool {
		if f.Message != c.template && reported[f.Field] {
			return true
		}
		value, _ := c.node.ScalarAt(f.Field)
		text, _ := value.(string)
		if !strings.Contains(text, "{{") {
			return false
		}
		twice := reported[f.Field]
		reported[f.Field] = true
		return twice
	})
	if len(reported) > 0 { // the message says how to check all
		c.Findings = slices.DeleteFunc(c.Findings, func(f Finding) bool { return f.Rule == RuleUnchecked })
	}
	for i := range c.Findings {
		if f := &c.Findings[i]; reported[f.Field] {
			f.Rule, f.Message = RuleSyntax, c.template
		}
	}
}

func (c *objectCheck) failed() bool {
	return slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Severity == Error })
}

// add adds an error of a field at the written version.
func (c *objectCheck) add(rule Rule, path, message string) {
	at, _ := c.node.Find(path)
	c.addFinding(Finding{Severity: Error, Rule: rule, Line: at.Line, Column: at.Column, Field: path, Message: message})
}

func (c *objectCheck) addFinding(f Finding) { c.Findings = append(c.Findings, f) }

// limit bounds the findings.
func (c *objectCheck) limit() {
	sortByPosition(c.Findings)
	if more := len(c.Findings) - maxFindings; more > 0 {
		last := c.Findings[maxFindings-1]
		c.Findings = append(c.Findings[:maxFindings], Finding{Severity: Error, Rule: RuleSchema, Line: last.Line, Column: last.Column,
			Message: fmt.Sprintf("and %d more from here on", more)})
	}
}

// sortByPosition sorts findings by their position in the file.
func sortByPosition(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// findHubField returns the position of a field of v1.
func (c *objectCheck) findHubField(path string) Finding {
	path = c.kind.table.Path(c.version, path)
	at, _ := c.node.Find(path)
	return Finding{Field: path, Line: at.Line, Column: at.Column}
}

// schemaErrors adds errors of the schema, each once, and reports whether all rules were checked. What is partial lacks the
// values of a wrong type: an error of what had such a one may follow from that.
func (c *objectCheck) schemaErrors(errs field.ErrorList, isPartial bool) (all bool) {
	var unfit []string
	all = true
	for _, err := range errs {
		err = c.ofMember(err)
		path, text := fieldOf(err), c.message(err)
		if wrong := unfitNumber.FindStringSubmatch(err.Detail); wrong != nil {
			unfit = append(unfit, wrong[1]) // most of them have a bound of their own, whose message is clearer
			continue
		}
		if path == "" && strings.HasPrefix(err.Detail, "some rules were not checked") {
			all = false
			continue
		}
		if _, mistyped := c.mistyped[path]; mistyped || slices.Contains(c.reported[path], text) {
			continue // only its type is reported
		}
		if isPartial && c.isOfMistyped(path) {
			all = false
			continue
		}
		c.reported[path] = append(c.reported[path], text)
		c.unusable[path] = err.Type == field.ErrorTypeRequired || err.Type == field.ErrorTypeTypeInvalid
		if wrong := typeOf.FindStringSubmatch(detailOf(err)); wrong != nil && err.Type == field.ErrorTypeTypeInvalid {
			c.mistyped[path] = wrong[1]
		}
		c.add(RuleSchema, path, text)
	}
	for _, path := range unfit {
		c.mistyped[path], c.unusable[path] = "integer", true
		if len(c.reported[path]) == 0 {
			text := fmt.Sprintf("must be a whole number between %d and %d", math.MinInt32, math.MaxInt32)
			c.reported[path] = append(c.reported[path], text)
			c.add(RuleSchema, path, text)
		}
	}
	return all
}

// isOfMistyped reports whether a field is within a value of a wrong type, or an object that has such a member.
func (c *objectCheck) isOfMistyped(path string) bool {
	for of := range c.mistyped {
		if parentPath(of) == path || isBelow(path, of) {
			return true
		}
	}
	return false
}

// ofMember returns an error of an object as that of the member that its message begins with: CEL names no member of a list.
func (c *objectCheck) ofMember(err *field.Error) *field.Error {
	word, rest, _ := strings.Cut(err.Detail, " ")
	path := fieldOf(err) + "." + word
	_, isMember := properties(c.kind.schemas()[c.version], fieldOf(err))[word]
	if !isMember && path != "metadata.name" {
		return err
	}
	value, isWritten := c.node.ScalarAt(path)
	if _, found := c.node.Find(path); !found && !strings.HasPrefix(rest, "is required") {
		return err
	}
	own := *err
	own.Field, own.BadValue = path, field.OmitValueType{}
	if isWritten {
		own.BadValue = value
	}
	return &own
}
