// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"regexp"
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

// message words an error for the author of the field: what is wrong, and with which value.
func message(err *field.Error) string {
	detail := plain(err)
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
		return with(err.BadValue, "is not supported", strings.Replace(detail, "supported values: ", "use one of ", 1))
	case field.ErrorTypeDuplicate:
		return with(err.BadValue, twice, "")
	case field.ErrorTypeForbidden:
		return "is not allowed: " + detail
	case field.ErrorTypeTooLong, field.ErrorTypeTooMany:
		return "is too long: " + detail
	case field.ErrorTypeInternal:
		return detail
	}
	if wrong := typeOf.FindStringSubmatch(detail); wrong != nil {
		return mismatch(wrong[1], wrong[2])
	}
	shown := show(err.BadValue)
	switch {
	case detail == "":
		return with(err.BadValue, "is not valid", "")
	case shown == "", strings.Contains(detail, shown), strings.HasPrefix(detail, "must have at"):
		return detail
	}
	return shown + ": " + detail
}

const twice = "is listed twice; remove one of them"

var (
	// typeOf is how OpenAPI validation speaks of types, and of formats.
	typeOf = regexp.MustCompile(`^must be of type (\S+): "(.*)"$`)
	// unfitNumber is what it says, of no field, about a number that an integer of 32 bits cannot hold.
	unfitNumber = regexp.MustCompile(`^Checked value must be of type integer with format int32 in (.+)$`)
	// syntax is the part of a message that is left out where an example is given.
	syntax = regexp.MustCompile(`, regex used for validation is '.*'\)$`)
)

var types = map[string]string{
	"string": "a string", "integer": "an integer", "number": "a number", "boolean": "a boolean",
	"object": "an object", "array": "a list", "null": "null",
}

// mismatch says what a value must be, and what it is; or what its format must be, and what it reads.
func mismatch(wanted, got string) string {
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
		return text + "; if it stands in quotes, take them away"
	}
	return text
}

// plain returns the detail without the words that OpenAPI validation puts around it.
func plain(err *field.Error) string {
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

func with(value any, verb, rest string) string {
	text := verb
	if shown := show(value); shown != "" {
		text = shown + " " + verb
	}
	if rest != "" {
		text += "; " + rest
	}
	return text
}

// show returns a value that is short enough to be repeated; "" for others.
func show(value any) string {
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
		return show(value.String())
	case *string:
		if value != nil {
			return show(*value)
		}
	}
	return ""
}
