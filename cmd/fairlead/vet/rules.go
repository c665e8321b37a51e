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
	if c.schemaErrors(definition.Validate(ctx, c.version, c.data, nil), false) {
		return
	}
	// CEL does not run on an object with a value of the wrong type: it runs on what is left without those.
	if len(c.mistyped) == 0 || !c.schemaErrors(definition.Validate(ctx, c.version, c.withoutMistyped(), nil), true) {
		c.addUnchecked()
	}
}

// checkRules checks the rules of the webhooks, at v1.
func (c *objectCheck) checkRules() {
	raw, err := json.Marshal(c.withoutMistyped())
	if err != nil {
		c.add(RuleInternal, "", err.Error())
		return
	}
	atHub := raw
	if c.version != hub {
		if atHub, err = c.kind.table.Convert(raw, c.kind.Group, hub); err != nil {
			c.add(RuleConversion, "", "cannot be converted to "+hub+": "+err.Error())
			c.addUnchecked()
			return
		}
	}
	admitted, err := c.kind.validate(atHub)
	if err != nil {
		c.addDecodeError(atHub, err)
		return
	}
	if admitted.object == nil {
		c.addUnchecked()
	}
	c.typed, c.newFinding = admitted.object, c.findingFor
	c.ruleErrors(admitted.errors)
	for _, text := range admitted.warnings {
		advice := c.findingFor(Warning, RuleAdvice, text)
		if !slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Severity == Error && f.Field == advice.Field }) {
			c.addFinding(advice)
		}
	}
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

// addUnchecked adds a warning, once, that not all rules were checked.
func (c *objectCheck) addUnchecked() {
	if slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Rule == RuleUnchecked }) {
		return
	}
	c.addFinding(Finding{Severity: Warning, Rule: RuleUnchecked, Line: c.Line, Column: 1, Message: "further rules were not checked: correct the errors of this object first"})
}

// ruleErrors adds the errors of fields that the schema has not reported: one finding per field is enough.
func (c *objectCheck) ruleErrors(errs field.ErrorList) {
	hidden := false
	for _, err := range errs {
		at, own := c.toWritten(err)
		if _, written := c.node.Find(at.Field); !written && c.hasWrongSibling(at.Field) {
			continue // it is about a default, which follows from what is written beside it
		}
		if c.alreadyReported(at) {
			// An error of an object with an unreadable part may be an error nevertheless.
			hidden = hidden || len(c.mistyped) > 0 && len(c.reported[at.Field]) == 0
			continue
		}
		at.Severity, at.Rule, at.Message = Error, RuleValid, c.message(own)
		c.addFinding(at)
	}
	if hidden {
		c.addUnchecked()
	}
}

// hasWrongSibling reports whether the schema check has reported a member of the object that has a field.
func (c *objectCheck) hasWrongSibling(path string) bool {
	for other := range c.reported {
		if parentPath(other) == parentPath(path) {
			return true
		}
	}
	return false
}

// parentPath returns the path of the object that has a field.
func parentPath(path string) string { return path[:max(0, strings.LastIndexByte(path, '.'))] }

// toWritten returns an error and its position at the written version.
func (c *objectCheck) toWritten(err *field.Error) (Finding, *field.Error) {
	at := c.findHubField(fieldOf(err))
	own := *err
	own.Field = c.kind.table.Path(c.version, err.Field)
	return at, &own
}

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
// corrected first.
func (c *objectCheck) alreadyReported(at Finding) bool {
	if len(c.reported[at.Field]) > 0 {
		return true
	}
	for path := range c.reported {
		if c.unusable[path] && (isBelow(at.Field, path) || isBelow(path, at.Field)) {
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

// findingFor returns a finding for a text that begins with the path of a field.
func (c *objectCheck) findingFor(severity Severity, rule Rule, text string) Finding {
	path, rest, ok := strings.Cut(text, ": ")
	f := Finding{Line: c.Line, Column: 1}
	if ok && !strings.Contains(path, " ") {
		f = c.findHubField(path)
	} else {
		rest = text
	}
	f.Severity, f.Rule, f.Message = severity, rule, rest
	return f
}
