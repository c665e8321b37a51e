// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"fmt"
	"regexp"
	"strings"
)

// step leads from a value to one within it: a field by its name, or with none, all items of a list or
// all values of a map.
type step struct {
	field string
	keyed bool // values of a map
}

// path is the place of a rule.
type path []step

func (p path) child(s step) path { return append(p[:len(p):len(p)], s) }

// String is the path as messages write it, such as spec.ports[*].name.
func (p path) String() string {
	var out strings.Builder
	for _, s := range p {
		switch {
		case s.field == "":
			out.WriteString("[*]")
		case out.Len() > 0:
			out.WriteString("." + s.field)
		default:
			out.WriteString(s.field)
		}
	}
	return out.String()
}

// all returns the CEL expression that a rule holds of every value at the place, which the rule calls self. What is
// absent breaks no rule: that something must be there is a rule of what is around it.
func (p path) all(root, rule string) string {
	at, depth := root, 0
	var before, after strings.Builder
	for i, s := range p {
		switch {
		case s.field != "":
			at += "." + s.field
			// What is converted may hold null, which the API server takes for absent.
			fmt.Fprintf(&before, "(!has(%[1]s) || %[1]s == null || ", at)
			after.WriteString(")")
			continue
		case s.keyed:
			fmt.Fprintf(&before, "%s.all(k%d, ", at, depth)
			at = fmt.Sprintf("%s[k%d]", at, depth)
		case i == len(p)-1:
			return before.String() + at + ".all(self, " + rule + ")" + after.String()
		default:
			fmt.Fprintf(&before, "%s.all(i%d, ", at, depth)
			at = fmt.Sprintf("i%d", depth)
		}
		after.WriteString(")")
		depth++
	}
	return before.String() + "[" + at + "].all(self, " + rule + ")" + after.String()
}

// unchanged returns the CEL expression that an update leaves the block of the spec alone that holds the place; "" is
// for a rule on the spec as a whole.
func (p path) unchanged() string {
	if len(p) < 2 {
		return ""
	}
	block := "spec." + p[1].field
	return fmt.Sprintf("has(object.%[1]s) && has(oldObject.%[1]s) && object.%[1]s == oldObject.%[1]s || ", block)
}

// ratcheted lets a rule that an update breaks pass where the stored object broke it as well, or the
// part that it is about stays as it is.
func (p path) ratcheted(rule string) string {
	return fmt.Sprintf("%s || (oldObject != null && (%s!%s))", p.all("object", rule), p.unchanged(), enclosed(p.all("oldObject", evaluable(rule))))
}

// ratchetedWhere is ratcheted for a rule that is asked only where an object meets a condition.
func (p path) ratchetedWhere(rule, now, before string) string {
	return fmt.Sprintf("!%s || %s || (oldObject != null && (%s!%s || !%s))",
		now, p.all("object", rule), p.unchanged(), before, enclosed(p.all("oldObject", evaluable(rule))))
}

// durationComparison finds where a rule compares spans of time.
var durationComparison = regexp.MustCompile(`duration\(([\w.]+)\) (<=|>=) duration\(([\w.]+|'[^']*')\)`)

// evaluable makes a rule that stored objects may break in any way say so, and not fail: a span that does
// not parse, or has more than five digits, counts as breaking it. Of a new object that is not done:
// there a rule that fails refuses as well, unless the stored object is forgiven.
func evaluable(rule string) string {
	const safe = `.matches('^([0-9]{1,5}([.][0-9]+)?(ms|s|m|h))+$')`
	return durationComparison.ReplaceAllStringFunc(rule, func(match string) string {
		parts := durationComparison.FindStringSubmatch(match)
		guard := parts[1] + safe
		if !strings.HasPrefix(parts[3], "'") {
			guard += " && " + parts[3] + safe
		}
		return "(" + guard + " && " + match + ")"
	})
}

func enclosed(expression string) string {
	if strings.HasPrefix(expression, "(") {
		return expression
	}
	return "(" + expression + ")"
}
