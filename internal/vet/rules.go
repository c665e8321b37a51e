// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/crdschema"
	"github.com/fairlead-dev/fairlead/internal/translation"
)

// schema checks against the definition at the written version, and fills in its defaults.
func (c *checking) schema(ctx context.Context, definition *crdschema.Kind) {
	for _, path := range definition.Prune(c.version, c.data) {
		c.said[path] = append(c.said[path], "")
		c.add(RuleUnknownField, path, "unknown field; "+c.instead(path))
	}
	if c.served == nil {
		// The API server takes no status from those who create an object.
		delete(c.data, "status")
	}
	definition.Default(c.version, c.data)
	c.schemaErrors(definition.Validate(ctx, c.version, c.data, nil))
}

// rules checks with the rules of the webhooks, at v1, and answers the object as they saw it; false
// where its fields could not be read.
func (c *checking) rules() (raw []byte, ok bool) {
	raw, err := json.Marshal(c.data)
	if err != nil {
		c.add(RuleInternal, "", err.Error())
		return nil, false
	}
	atHub := raw
	if c.version != hub {
		if atHub, err = c.kind.converter.Convert(raw, hub); err != nil {
			c.add(RuleConversion, "", "cannot be converted to "+hub+": "+err.Error())
			return nil, false
		}
		c.atHub = atHub
	}
	verdict, err := c.kind.judge(atHub)
	if err != nil {
		c.unread(atHub, err)
		return nil, false
	}
	c.typed, c.placed = verdict.object, c.place
	c.ruleErrors(verdict.errors)
	for _, text := range verdict.warnings {
		advice := c.place(Warning, RuleAdvice, text)
		if !slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Severity == Error && f.Field == advice.Field }) {
			c.put(advice)
		}
	}
	return raw, true
}

// unread speaks of a field that is of the wrong type, unless the schema did.
func (c *checking) unread(atHub []byte, err error) {
	if c.failed() {
		return
	}
	var value any
	_ = json.Unmarshal(atHub, &value) // without it there are no paths, and the message still holds
	path, text := mistyped(value, err)
	at := c.translated(path)
	at.Severity, at.Rule, at.Message = Error, RuleValid, text
	c.put(at)
}

// ruleErrors records what the schema did not say already: most rules have twins in CEL, and of a field
// that is wrong one word is enough.
func (c *checking) ruleErrors(errs field.ErrorList) {
	for _, err := range errs {
		known := translation.Field{Path: fieldOf(err)}
		if c.version != hub {
			err, known = c.author().Own(err)
		}
		at := c.find(known)
		if c.spoken(at) || c.sharpened(at, err) {
			continue
		}
		at.Severity, at.Rule, at.Message = Error, RuleValid, message(err)
		c.put(at)
	}
}

// spoken says that the schema has spoken of a field, or of one above or below it that must be corrected
// before, or, where the field is but the nearest one, of any below.
func (c *checking) spoken(at Finding) bool {
	if at.StoredField == "" && len(c.said[at.Field]) > 0 {
		return true
	}
	for path := range c.said {
		if at.StoredField != "" && (path == at.Field || under(path, at.Field)) ||
			c.unusable[path] && (under(at.Field, path) || under(path, at.Field)) {
			return true
		}
	}
	return false
}

// under says that a path leads to something inside of another.
func under(path, above string) bool {
	inside, below := strings.CutPrefix(path, above)
	return below && inside != "" && (above == "" || inside[0] == '.' || inside[0] == '[')
}

// sharpened moves what the schema says about an object to the member which the same rule in Go names.
func (c *checking) sharpened(at Finding, err *field.Error) bool {
	for i := range c.Findings {
		f := &c.Findings[i]
		same := f.Message == err.Detail || err.Type == field.ErrorTypeDuplicate && f.Message == twice
		if f.Rule == RuleSchema && same && under(at.Field, f.Field) {
			f.Field, f.Line, f.Column, f.Message = at.Field, at.Line, at.Column, message(err)
			c.said[at.Field] = append(c.said[at.Field], f.Message)
			return true
		}
	}
	return false
}

// place makes a finding of a text that begins with the path of a field.
func (c *checking) place(severity Severity, rule Rule, text string) Finding {
	path, rest, ok := strings.Cut(text, ": ")
	f := Finding{}
	switch written, alpha := strings.CutPrefix(path, "v1alpha1 "); {
	case !ok || strings.Contains(written, " "):
		rest = text
		f.Line, f.Column = c.Line, 1
	case alpha && c.version == "v1alpha1":
		at, _ := c.node.Find(written)
		f = Finding{Field: written, Line: at.Line, Column: at.Column}
	case alpha:
		at, _ := c.node.Find("metadata.annotations")
		f = Finding{Field: path, Line: at.Line, Column: at.Column}
	default:
		f = c.translated(path)
		if c.version != hub {
			rest = c.author().Words(rest)
		}
	}
	f.Severity, f.Rule, f.Message = severity, rule, rest
	return f
}
