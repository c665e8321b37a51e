// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/crdschema"
	"github.com/fairlead-dev/fairlead/webhooks/admission/translation"
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

// rules checks with the rules of the webhooks, at v1, and returns the object as they saw it; false
// where its fields could not be read.
func (c *checking) rules() (raw []byte, ok bool) {
	raw, err := json.Marshal(c.usable())
	if err != nil {
		c.add(RuleInternal, "", err.Error())
		return nil, false
	}
	atHub := raw
	if c.version != hub {
		if atHub, err = c.kind.converter.Convert(raw, hub); err != nil {
			c.add(RuleConversion, "", "cannot be converted to "+hub+": "+err.Error())
			c.unchecked()
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
		c.unchecked()
		return
	}
	var value any
	_ = json.Unmarshal(atHub, &value) // without it there are no paths, and the message still holds
	path, text := mistyped(value, err)
	at := c.translated(path)
	at.Severity, at.Rule, at.Message = Error, RuleValid, text
	c.put(at)
}

// unchecked says that there may be more to correct.
func (c *checking) unchecked() {
	c.put(Finding{Severity: Warning, Rule: RuleUnchecked, Line: c.Line, Column: 1, Message: "further rules were not checked: correct the errors of this object first"})
}

// ruleErrors records what the schema did not say already: CEL has most rules too, and of a field
// that is wrong one word is enough.
func (c *checking) ruleErrors(errs field.ErrorList) {
	var derived []*field.Error
	hidden := false
	for _, err := range errs {
		at, own := c.own(err)
		_, written := c.node.Find(at.Field)
		switch {
		case c.spoken(at):
			// An error of an object of which a part could not be read may be one all the same.
			hidden = hidden || len(c.mistyped) > 0 && len(c.said[at.Field]) == 0
		case c.sharpened(at, own), c.compared(at, own):
		case !written && own.Type != field.ErrorTypeRequired && !strings.HasPrefix(own.Detail, "must have at least"):
			derived = append(derived, err)
		default:
			c.rule(at, own)
		}
	}
	// The value of a field that is not written is a default, and may follow from a wrong one beside it.
	wrong := map[string]bool{}
	for i := range c.Findings {
		if f := &c.Findings[i]; f.Severity == Error {
			wrong[above(f.Field)] = true
		}
	}
	for _, err := range derived {
		if at, own := c.own(err); !wrong[above(at.Field)] {
			c.rule(at, own)
		}
	}
	if hidden {
		c.unchecked()
	}
}

// own returns an error, and its place, as the author of the object knows them.
func (c *checking) own(err *field.Error) (Finding, *field.Error) {
	known := translation.Field{Path: fieldOf(err)}
	if c.version != hub {
		err, known = c.author().Own(err)
	}
	return c.find(known), err
}

func (c *checking) rule(at Finding, err *field.Error) {
	at.Severity, at.Rule, at.Message = Error, RuleValid, c.message(err)
	c.put(at)
}

// compared says that an error compares a field with one beside it that could not be read: the
// comparison was with a default.
func (c *checking) compared(at Finding, err *field.Error) bool {
	for path := range c.mistyped {
		if above(path) == above(at.Field) && path != at.Field && strings.Contains(err.Detail, path[strings.LastIndexByte(path, '.')+1:]) {
			return true
		}
	}
	return false
}

// above is the path of the object that has a field.
func above(path string) string { return path[:max(0, strings.LastIndexByte(path, '.'))] }

// usable is the object without the values of another type, so that the rules can be asked about the
// rest. An item of a list stays as an empty one, or the others would have other indexes.
func (c *checking) usable() map[string]any {
	if len(c.mistyped) == 0 {
		return c.data
	}
	object := runtime.DeepCopyJSON(c.data)
	for path, wanted := range c.mistyped {
		blank(object, path, wanted)
	}
	return object
}

func blank(value any, path, wanted string) {
	switch value := value.(type) {
	case []any:
		number, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(number)
		switch {
		case err != nil || i < 0 || i >= len(value):
		case rest != "":
			blank(value[i], rest, wanted)
		default:
			value[i] = map[string]any{"string": "", "integer": int64(0), "boolean": false, "object": map[string]any{}, "array": []any{}}[wanted]
		}
	case map[string]any:
		inside, bracket := strings.CutPrefix(path, "[")
		inside = strings.TrimPrefix(inside, ".")
		best, rest := "", ""
		for key := range value { // which may have dots itself, so that the longest is meant
			after, begins := strings.CutPrefix(inside, key)
			if bracket && begins {
				after, begins = strings.CutPrefix(after, "]")
			}
			if begins && (after == "" || after[0] == '.' || after[0] == '[') && len(key) >= len(best) {
				best, rest = key, after
			}
		}
		if rest == "" {
			delete(value, best)
			return
		}
		blank(value[best], rest, wanted)
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
		same := f.Message == err.Detail || err.Type == field.ErrorTypeDuplicate && f.Message == c.message(err)
		if f.Rule == RuleSchema && same && under(at.Field, f.Field) {
			f.Field, f.Line, f.Column, f.Message = at.Field, at.Line, at.Column, c.message(err)
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
