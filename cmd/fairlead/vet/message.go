// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxShown bounds the characters of a value that a message repeats.
const maxShown = 64

// fieldOf returns the path of an error; "" for the object itself.
func fieldOf(err *field.Error) string {
	if err.Field == "<nil>" {
		return ""
	}
	return err.Field
}

// message returns what is wrong with a field, and with which value.
func message(err *field.Error) string {
	detail := detailOf(err)
	switch err.Type {
	case field.ErrorTypeRequired:
		switch {
		case detail == "" || detail == "Required value":
			return "is required; add it"
		case strings.Contains(detail, "required"):
			return detail
		}
		return "is required: " + detail
	case field.ErrorTypeNotSupported:
		return withValue(err.BadValue, "is not supported", strings.Replace(detail, "supported values: ", "use one of ", 1))
	case field.ErrorTypeDuplicate:
		return withValue(err.BadValue, twice, "")
	case field.ErrorTypeForbidden:
		return "is not allowed: " + detail
	case field.ErrorTypeTooLong, field.ErrorTypeTooMany:
		return "is too long: " + detail
	case field.ErrorTypeInternal:
		return detail
	}
	if wrong := typeOf.FindStringSubmatch(detail); wrong != nil {
		return wrongTypeMessage(wrong[1], wrong[2])
	}
	shown := shownValue(err.BadValue)
	switch {
	case detail == "":
		return withValue(err.BadValue, "is not valid", "")
	case shown == "", strings.Contains(detail, shown), strings.HasPrefix(detail, "must have at"):
		return detail
	}
	return shown + ": " + detail
}

const twice = "is listed twice; remove one of them"

var (
	// typeOf matches the errors of OpenAPI validation about types, and about formats.
	typeOf = regexp.MustCompile(`^must be of type (\S+): "(.*)"$`)
	// unfitNumber matches its error, without a field, about a number that does not fit into 32 bits.
	unfitNumber = regexp.MustCompile(`^Checked value must be of type integer with format int32 in (.+)$`)
	// syntax matches the part of a message that is left out where there is an example.
	syntax = regexp.MustCompile(`, regex used for validation is '.*'\)$`)
)

var types = map[string]string{
	"string": "a string", "integer": "an integer", "number": "a number", "boolean": "a boolean",
	"object": "an object", "array": "a list", "null": "null",
}

// wrongTypeMessage returns what a value must be, and what it is; or what its format must be, and what it reads.
func wrongTypeMessage(wanted, got string) string {
	want, known := types[wanted]
	if !known {
		if wanted == "date-time" {
			return fmt.Sprintf("%q: must be an RFC 3339 timestamp, such as 2026-01-31T08:00:00Z", got)
		}
		if wanted == "int32" {
			return "must be a whole number"
		}
		return fmt.Sprintf("%q is no %s", got, wanted)
	}
	is, known := types[got]
	if !known {
		is = got
	}
	text := "must be " + want + ", not " + is
	switch {
	case wanted == "string" && got == "boolean":
		return text + "; put it in quotes: YAML takes y, n, yes, no, on and off for booleans, too"
	case wanted == "string" && (got == "integer" || got == "number"):
		return text + "; put it in quotes"
	case got == "string" && (wanted == "integer" || wanted == "number" || wanted == "boolean"):
		return text + "; if it is in quotes, remove them"
	}
	return text
}

// detailOf returns the detail without the words that OpenAPI validation puts around it.
func detailOf(err *field.Error) string {
	detail := syntax.ReplaceAllString(err.Detail, ")")
	if _, after, found := strings.Cut(detail, " in body "); found && strings.HasPrefix(detail, err.Field) {
		detail = after
	}
	switch detail {
	case "should have at least 1 items":
		return "must have at least 1 item"
	case "should be at least 1 chars long":
		return "must not be empty"
	}
	return strings.Replace(detail, "should ", "must ", 1)
}

func withValue(value any, verb, rest string) string {
	text := verb
	if shown := shownValue(value); shown != "" {
		text = shown + " " + verb
	}
	if rest != "" {
		text += "; " + rest
	}
	return text
}

// shownValue returns a value that is short enough for a message; "" for others.
func shownValue(value any) string {
	switch value := value.(type) {
	case field.OmitValueType, nil:
		return ""
	case string:
		if value == "" || utf8.RuneCountInString(value) > maxShown {
			return ""
		}
		return fmt.Sprintf("%q", value)
	case bool, int, int32, int64, float64:
		return fmt.Sprint(value)
	case fmt.Stringer:
		return shownValue(value.String())
	case *string:
		if value != nil {
			return shownValue(*value)
		}
	}
	return ""
}

// message returns the message of an error, with what the manifest adds to it.
func (c *objectCheck) message(err *field.Error) string {
	path := fieldOf(err)
	value, scalar := c.node.ScalarAt(path)
	switch {
	case err.Type == field.ErrorTypeDuplicate:
		return c.duplicateMessage(path, err)
	case err.Type == field.ErrorTypeTypeInvalid && scalar && c.isDuration(path):
		switch value.(type) {
		case int64, float64:
			return fmt.Sprintf("durations need a unit: write \"%vs\"", value)
		}
	case strings.HasSuffix(err.Detail, "must be in canonical form"):
		if address, parsed := netip.ParseAddr(fmt.Sprint(value)); parsed == nil {
			return message(err) + ", which is " + address.String()
		}
	}
	return message(err)
}

// isDuration reports whether a field of the written version is a duration.
func (c *objectCheck) isDuration(path string) bool {
	parent, name := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	for _, rule := range properties(c.kind.schemas()[c.version], parent)[name].XValidations {
		if strings.HasPrefix(rule.Message, "must be a duration ") {
			return true
		}
	}
	return false
}

// duplicateMessage names the items of a list that are the same, and by which value: spec.triggers[2], where the
// CRD says so, or spec.triggers[2].name, where a rule does.
func (c *objectCheck) duplicateMessage(path string, err *field.Error) string {
	open := strings.LastIndexByte(path, '[')
	list, rest, closed := strings.Cut(path[max(open, 0):], "]")
	index, broken := strconv.Atoi(strings.TrimPrefix(list, "["))
	if open < 0 || !closed || broken != nil {
		return message(err)
	}
	parent, key := path[:open], strings.TrimPrefix(rest, ".")
	if keys, ok := err.BadValue.(map[string]any); ok && len(keys) == 1 {
		for name := range keys {
			key = name
		}
	}
	at := func(i int) (any, bool) {
		item := fmt.Sprintf("%s[%d]", parent, i)
		if key != "" {
			item += "." + key
		}
		return c.node.ScalarAt(item)
	}
	value, ok := at(index)
	name := parent[strings.LastIndexByte(parent, '.')+1:]
	for first := 0; ok && first < index; first++ {
		if other, has := at(first); has && other == value {
			if key == "" {
				return fmt.Sprintf("%q is listed twice, as %s[%d] and %s[%d]", fmt.Sprint(value), name, first, name, index)
			}
			return fmt.Sprintf("%s %q is used by %s[%d] and %s[%d]", key, fmt.Sprint(value), name, first, name, index)
		}
	}
	return message(err)
}
