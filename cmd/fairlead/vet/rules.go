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
)

// checkSchema checks against the CRD at the written version, and fills in its defaults.
func (c *objectCheck) checkSchema(ctx context.Context, definition *crdschema.Kind) {
	for _, path := range definition.Prune(c.version, c.data) {
		c.reported[path] = append(c.reported[path], "")
		c.add(RuleUnknownField, path, "unknown field; "+c.suggestion(path))
	}
	if c.served == nil {
		// The API server takes no status from those who create an object.
		delete(c.data, "status")
	}
	definition.Default(c.version, c.data)
	c.schemaErrors(definition.Validate(ctx, c.version, c.data, nil))
}

// checkRules checks the rules of the webhooks, at v1, and returns the object that they got; false where its fields
// could not be read.
func (c *objectCheck) checkRules() (raw []byte, ok bool) {
	raw, err := json.Marshal(c.withoutMistyped())
	if err != nil {
		c.add(RuleInternal, "", err.Error())
		return nil, false
	}
	atHub := raw
	if c.version != hub {
		if atHub, err = c.kind.converter.Convert(raw, hub); err != nil {
			c.add(RuleConversion, "", "cannot be converted to "+hub+": "+err.Error())
			c.addUnchecked()
			return nil, false
		}
		c.atHub = atHub
	}
	admitted, err := c.kind.validate(atHub)
	if err != nil {
		c.addDecodeError(atHub, err)
		return nil, false
	}
	c.typed, c.newFinding = admitted.object, c.findingFor
	c.ruleErrors(admitted.errors)
	for _, text := range admitted.warnings {
		advice := c.findingFor(Warning, RuleAdvice, text)
		if !slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Severity == Error && f.Field == advice.Field }) {
			c.addFinding(advice)
		}
	}
	return raw, true
}

// addDecodeError adds an error of a field of the wrong type, unless the schema has reported it.
func (c *objectCheck) addDecodeError(atHub []byte, err error) {
	if c.failed() {
		c.addUnchecked()
		return
	}
	var value any
	_ = json.Unmarshal(atHub, &value) // without it there are no paths, and the message still holds
	path, text := mistyped(value, err)
	at := c.findHubField(path)
	at.Severity, at.Rule, at.Message = Error, RuleValid, text
	c.addFinding(at)
}

// addUnchecked adds a warning that not all rules were checked.
func (c *objectCheck) addUnchecked() {
	c.addFinding(Finding{Severity: Warning, Rule: RuleUnchecked, Line: c.Line, Column: 1, Message: "further rules were not checked: correct the errors of this object first"})
}

// ruleErrors adds the errors that the schema has not reported: most rules are in CEL as well, and one finding per
// field is enough.
func (c *objectCheck) ruleErrors(errs field.ErrorList) {
	var derived []*field.Error
	hidden := false
	for _, err := range errs {
		at, own := c.toWritten(err)
		_, written := c.node.Find(at.Field)
		switch {
		case c.alreadyReported(at):
			// An error of an object with an unreadable part may be an error nevertheless.
			hidden = hidden || len(c.mistyped) > 0 && len(c.reported[at.Field]) == 0
		case c.refined(at, own), c.comparedWithDefault(at, own):
		case !written && own.Type != field.ErrorTypeRequired && !strings.HasPrefix(own.Detail, "must have at least"):
			derived = append(derived, err)
		default:
			c.addRuleError(at, own)
		}
	}
	// The value of a field that is not written is a default, and may follow from a wrong one beside it.
	wrong := map[string]bool{}
	for i := range c.Findings {
		if f := &c.Findings[i]; f.Severity == Error {
			wrong[parentPath(f.Field)] = true
		}
	}
	for _, err := range derived {
		if at, own := c.toWritten(err); !wrong[parentPath(at.Field)] {
			c.addRuleError(at, own)
		}
	}
	if hidden {
		c.addUnchecked()
	}
}

// toWritten returns an error and its position at the written version.
func (c *objectCheck) toWritten(err *field.Error) (Finding, *field.Error) {
	at := c.findHubField(fieldOf(err))
	own := *err
	if c.version != hub {
		own = *c.translator().Error(err)
		own.Detail = err.Detail // the finding has the field of v1
	}
	return at, &own
}

func (c *objectCheck) addRuleError(at Finding, err *field.Error) {
	at.Severity, at.Rule, at.Message = Error, RuleValid, c.message(err)
	c.addFinding(at)
}

// comparedWithDefault reports whether an error compares a field with a sibling that could not be read: it was
// compared with a default.
func (c *objectCheck) comparedWithDefault(at Finding, err *field.Error) bool {
	for path := range c.mistyped {
		named := strings.Contains(err.Detail, path[strings.LastIndexByte(path, '.')+1:]) ||
			c.version != hub && strings.Contains(err.Detail, "must not exceed") // by the name that v1 has for it
		if named && parentPath(path) == parentPath(at.Field) && path != at.Field {
			return true
		}
	}
	return false
}

// parentPath returns the path of the object that has a field.
func parentPath(path string) string { return path[:max(0, strings.LastIndexByte(path, '.'))] }

// withoutMistyped returns the object without values of the wrong type, so that the rules can check the rest. An
// item of a list becomes an empty one, so that the others keep their indexes.
func (c *objectCheck) withoutMistyped() map[string]any {
	if len(c.mistyped) == 0 {
		return c.data
	}
	object := runtime.DeepCopyJSON(c.data)
	for path, wanted := range c.mistyped {
		clearValue(object, path, wanted)
	}
	return object
}

func clearValue(value any, path, wanted string) {
	switch value := value.(type) {
	case []any:
		number, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(number)
		switch {
		case err != nil || i < 0 || i >= len(value):
		case rest != "":
			clearValue(value[i], rest, wanted)
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
		clearValue(value[best], rest, wanted)
	}
}

// alreadyReported reports whether the schema check has reported a field, or one above or below it that must be
// corrected first, or, where the field is only the nearest one, any below it.
func (c *objectCheck) alreadyReported(at Finding) bool {
	if at.StoredField == "" && len(c.reported[at.Field]) > 0 {
		return true
	}
	for path := range c.reported {
		if at.StoredField != "" && (path == at.Field || isBelow(path, at.Field)) ||
			c.unusable[path] && (isBelow(at.Field, path) || isBelow(path, at.Field)) {
			return true
		}
	}
	return false
}

// isBelow reports whether a path is within another.
func isBelow(path, above string) bool {
	inside, below := strings.CutPrefix(path, above)
	return below && inside != "" && (above == "" || inside[0] == '.' || inside[0] == '[')
}

// refined moves a finding of the schema about an object to the member that the same rule in Go names.
func (c *objectCheck) refined(at Finding, err *field.Error) bool {
	for i := range c.Findings {
		f := &c.Findings[i]
		same := f.Message == err.Detail || err.Type == field.ErrorTypeDuplicate && f.Message == c.message(err)
		if member, _, _ := strings.Cut(f.Message, " "); at.Field == f.Field+"."+member { // in the words of its version
			own := *err
			own.Detail, err, same = f.Message, &own, true
		}
		if f.Rule == RuleSchema && same && isBelow(at.Field, f.Field) {
			f.Field, f.Line, f.Column, f.Message = at.Field, at.Line, at.Column, c.message(err)
			c.reported[at.Field] = append(c.reported[at.Field], f.Message)
			return true
		}
	}
	return false
}

// findingFor returns a finding for a text that begins with the path of a field.
func (c *objectCheck) findingFor(severity Severity, rule Rule, text string) Finding {
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
		f = c.findHubField(path)
	}
	f.Severity, f.Rule, f.Message = severity, rule, rest
	return f
}
