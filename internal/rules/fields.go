// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// MaxNameLength bounds the names of our objects, in characters, so that the names derived from
// them (pods, slices, jobs) stay within 63.
const MaxNameLength = 52

var (
	durationPattern = regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`)
	percentPattern  = regexp.MustCompile(`^(100|[1-9]?[0-9])%$`)
	namePattern     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

// Name checks the object's own name.
func Name(name string) field.ErrorList {
	if utf8.RuneCountInString(name) <= MaxNameLength {
		return nil
	}
	return field.ErrorList{field.Invalid(At("metadata", "name").Field(), name,
		fmt.Sprintf("name must be at most %d characters", MaxNameLength))}
}

// Text bounds a string: at least and at most so many characters.
func Text(path Path, value string, least, most int) field.ErrorList {
	switch n := utf8.RuneCountInString(value); {
	case n < least:
		return field.ErrorList{field.Invalid(path.Field(), value, atLeastCharacters(least))}
	case n > most:
		return field.ErrorList{field.TooLong(path.Field(), value, most)}
	}
	return nil
}

func atLeastCharacters(least int) string {
	if least == 1 {
		return "must not be empty"
	}
	return fmt.Sprintf("must be at least %d characters", least)
}

// Expression is a regular expression, or what decides as one does.
type Expression interface{ MatchString(text string) bool }

// Pattern demands that value matches the whole expression; message says what that takes.
func Pattern(path Path, value string, pattern Expression, message string) field.ErrorList {
	if pattern.MatchString(value) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Field(), value, message)}
}

// NameMessage describes the expression of a short name.
const NameMessage = "must be lower-case letters, digits and hyphens, with a letter or digit at both ends"

// Names checks the names of the items of a list whose key they are: at most 63 characters each, and no name twice.
func Names(path Path, n int, name func(i int) string) field.ErrorList {
	var errs field.ErrorList
	at := func(i int) Path { return path.Index(i).Child("name") }
	for i := range n {
		errs = append(errs, Text(at(i), name(i), 1, 63)...)
		errs = append(errs, Pattern(at(i), name(i), namePattern, NameMessage)...)
	}
	return append(errs, Unique(n, name, at)...)
}

// Unique refuses a value that a list of n items holds already; at returns the path of an item.
func Unique[T ~string](n int, item func(i int) T, at func(i int) Path) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[T]bool, n)
	for i := range n {
		value := item(i)
		if seen[value] {
			errs = append(errs, field.Duplicate(at(i).Field(), value))
		}
		seen[value] = true
	}
	return errs
}

// DurationMessage describes the notation of a span.
const DurationMessage = "must be a duration such as 30s, 5m or 1h30m: one to four numbers of at most five digits, each with its unit h, m, s or ms"

// Within are the items that there may be, at most; Items reports the others, which need not be validated.
func Within[T any](list []T, most int) []T { return list[:min(len(list), most)] }

// Excessive reports whether one of the errors is about more items than there may be.
func Excessive(errs field.ErrorList) bool {
	return slices.ContainsFunc(errs, func(err *field.Error) bool { return err.Type == field.ErrorTypeTooMany })
}

// Items bounds the length of a list.
func Items(path Path, n, least, most int) field.ErrorList {
	switch {
	case n < least:
		return field.ErrorList{field.Invalid(path.Field(), n, "must have at least "+items(least))}
	case n > most:
		return field.ErrorList{field.TooMany(path.Field(), n, most)}
	}
	return nil
}

func items(n int) string {
	if n == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", n)
}

// Enum demands one of the allowed values.
func Enum[T ~string](path Path, value T, allowed ...T) field.ErrorList {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path.Field(), value, allowed)}
}

// Range bounds a number.
func Range[T ~int32 | ~int64](path Path, value, least, most T) field.ErrorList {
	if value >= least && value <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Field(), value, fmt.Sprintf("must be between %d and %d", least, most))}
}

// Duration checks a span's notation and returns it; ok is false where it cannot be compared.
func Duration(path Path, d common.Duration) (span time.Duration, ok bool, errs field.ErrorList) {
	errs = append(Text(path, string(d), 0, 32), Pattern(path, string(d), durationPattern, DurationMessage)...)
	if len(errs) > 0 {
		return 0, false, errs
	}
	span, err := d.Parse()
	return span, err == nil, nil
}

// OptionalDuration is Duration for a field that may be absent; ok is false where it is.
func OptionalDuration(path Path, d *common.Duration) (span time.Duration, ok bool, errs field.ErrorList) {
	if d == nil {
		return 0, false, nil
	}
	return Duration(path, *d)
}

// Ordered checks two spans of which the first must not exceed the second.
func Ordered(path Path, lowName string, low *common.Duration, highName string, high *common.Duration) field.ErrorList {
	short, hasLow, errs := OptionalDuration(path.Child(lowName), low)
	long, hasHigh, highErrs := OptionalDuration(path.Child(highName), high)
	errs = append(errs, highErrs...)
	if hasLow && hasHigh && short > long {
		errs = append(errs, field.Invalid(path.Child(lowName).Field(), string(*low), lowName+" must not exceed "+highName))
	}
	return errs
}

// IntOrPercent demands a non-negative integer or a whole percentage from 0% to 100%.
func IntOrPercent(path Path, value *intstr.IntOrString) field.ErrorList {
	switch {
	case value == nil,
		value.Type == intstr.Int && value.IntVal >= 0,
		value.Type == intstr.String && percentPattern.MatchString(value.StrVal):
		return nil
	}
	return field.ErrorList{field.Invalid(path.Field(), value.String(), "must be a non-negative integer or a percentage 0%-100%")}
}

// OptionalRange is Range for a field that may be absent.
func OptionalRange(path Path, value *int32, least, most int32) field.ErrorList {
	if value == nil {
		return nil
	}
	return Range(path, *value, least, most)
}

// OptionalEnum is Enum for a field that may be absent.
func OptionalEnum[T ~string](path Path, value *T, allowed ...T) field.ErrorList {
	if value == nil {
		return nil
	}
	return Enum(path, *value, allowed...)
}

// OptionalText is Text for a field that may be absent.
func OptionalText(path Path, value *string, least, most int) field.ErrorList {
	if value == nil {
		return nil
	}
	return Text(path, *value, least, most)
}

// Positive refuses a span of nothing, within which nothing can happen. It is silent on spans that do not
// parse: Duration is not.
func Positive(path Path, d *common.Duration) field.ErrorList {
	if d == nil || d.Or(1) > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Field(), string(*d), "must be greater than 0")}
}

// Reasons returns why a name of bounded length is wrong, by a function of package validation. The empty
// name is for Text to refuse.
func Reasons(path Path, name string, why func(string) []string) field.ErrorList {
	if name == "" {
		return nil
	}
	var errs field.ErrorList
	for _, reason := range why(name) {
		errs = append(errs, field.Invalid(path.Field(), name, reason))
	}
	return errs
}
