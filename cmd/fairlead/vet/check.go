// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
	"github.com/fairlead-dev/fairlead/webhooks/admission/translation"
)

// maxFindings bounds the findings of an object: beyond, they are not read.
const maxFindings = 100

// checking is the check of one object.
type checking struct {
	checked
	node    *manifest.Node
	version string // at which it is written
	data    map[string]any
	served  []string // by the cluster that has stored it; nil where none has
	atHub   []byte   // the object at v1, where it is written at another version
	written *translation.Object
	// template is what to say of a value that is a template; "" where the text has none.
	template string
	// said are the fields that the schema has spoken of, with its messages.
	said map[string][]string
	// unusable are those of them that are not there, or of another type: nothing inside counts.
	unusable map[string]bool
	// mistyped are the fields of another type, with the one that they must have.
	mistyped map[string]string
}

// run checks in the order in which a cluster would. A stage that cannot work with what the stages
// before it found is left out: correcting the rest brings it back.
func (c *checking) run(ctx context.Context) {
	c.said, c.unusable, c.mistyped = map[string][]string{}, map[string]bool{}, map[string]string{}
	c.node.AllProblems(func(path string, p manifest.Problem) {
		if c.template != "" && p.Rule == string(RuleSyntax) {
			p.Message = c.template
		}
		c.put(Finding{Severity: Error, Rule: Rule(p.Rule), Line: p.Line, Column: p.Column, Field: path, Message: p.Message})
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
	c.kept()
	c.metadata()
	c.schema(ctx, definition)
	if raw, ok := c.rules(); ok && !c.failed() {
		c.conversion(definition.Versions(), raw)
	}
	c.templates()
}

// templates says of values that are templates yet that they are, and nothing else.
func (c *checking) templates() {
	if c.template == "" {
		return
	}
	told := map[string]bool{}
	for i := range c.Findings {
		if f := &c.Findings[i]; f.Message == c.template {
			told[f.Field] = true // what stands there is no text, such as {{ .Values.x }}
		}
	}
	c.Findings = slices.DeleteFunc(c.Findings, func(f Finding) bool {
		if f.Message != c.template && told[f.Field] {
			return true
		}
		value, _ := c.node.ScalarAt(f.Field)
		text, _ := value.(string)
		if !strings.Contains(text, "{{") {
			return false
		}
		twice := told[f.Field]
		told[f.Field] = true
		return twice
	})
	for i := range c.Findings {
		if f := &c.Findings[i]; told[f.Field] {
			f.Rule, f.Message = RuleSyntax, c.template
		}
	}
}

func (c *checking) failed() bool {
	return slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Severity == Error })
}

// add records an error of a field, as the author knows it.
func (c *checking) add(rule Rule, path, message string) {
	at, _ := c.node.Find(path)
	c.put(Finding{Severity: Error, Rule: rule, Line: at.Line, Column: at.Column, Field: path, Message: message})
}

func (c *checking) put(f Finding) { c.Findings = append(c.Findings, f) }

// limit bounds the findings.
func (c *checking) limit() {
	inOrder(c.Findings)
	if more := len(c.Findings) - maxFindings; more > 0 {
		last := c.Findings[maxFindings-1]
		c.Findings = append(c.Findings[:maxFindings], Finding{Severity: Error, Rule: RuleSchema, Line: last.Line, Column: last.Column,
			Message: fmt.Sprintf("and %d more from here on", more)})
	}
}

// inOrder sorts findings as they stand in the file.
func inOrder(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// translated returns where a field of v1 was written.
func (c *checking) translated(path string) Finding {
	known := translation.Field{Path: path}
	if c.version != hub {
		known = c.author().Field(path)
	}
	return c.find(known)
}

// find returns where a field stands.
func (c *checking) find(known translation.Field) Finding {
	at, _ := c.node.Find(known.Path)
	return Finding{Field: known.Path, StoredField: known.Stored, Line: at.Line, Column: at.Column}
}

// author knows the object as it was written.
func (c *checking) author() *translation.Object {
	if c.written == nil {
		var stored map[string]any
		_ = json.Unmarshal(c.atHub, &stored) // it is a converter's answer; without it less is told
		c.written = translation.New(c.Kind, stored, c.data)
	}
	return c.written
}

// schemaErrors records those of a list, each once.
func (c *checking) schemaErrors(errs field.ErrorList) {
	var unfit []string
	for _, err := range errs {
		path, text := fieldOf(err), c.message(err)
		if wrong := unfitNumber.FindStringSubmatch(err.Detail); wrong != nil {
			unfit = append(unfit, wrong[1]) // of most, a bound of their own says more
			continue
		}
		if path == "" && strings.HasPrefix(err.Detail, "some rules were not checked") {
			continue // the rules in Go check the same
		}
		if _, mistyped := c.mistyped[path]; mistyped || slices.Contains(c.said[path], text) {
			continue // of what has another type, no more is to be said
		}
		c.said[path] = append(c.said[path], text)
		c.unusable[path] = err.Type == field.ErrorTypeRequired || err.Type == field.ErrorTypeTypeInvalid
		if wrong := typeOf.FindStringSubmatch(plain(err)); wrong != nil && err.Type == field.ErrorTypeTypeInvalid {
			c.mistyped[path] = wrong[1]
		}
		c.add(RuleSchema, path, text)
	}
	for _, path := range unfit {
		c.mistyped[path], c.unusable[path] = "integer", true
		if len(c.said[path]) == 0 {
			text := fmt.Sprintf("must be a whole number between %d and %d", math.MinInt32, math.MaxInt32)
			c.said[path] = append(c.said[path], text)
			c.add(RuleSchema, path, text)
		}
	}
}
