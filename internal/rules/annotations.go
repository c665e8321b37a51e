// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// maxToken bounds the token of an annotation that requests something now, in characters, as the
	// status that remembers it does.
	maxToken = 256
	// maxTime bounds a time of RFC 3339, in bytes: with nine digits of a second it has 35.
	maxTime = 64
)

// Requests checks the annotations by which a user requests something: now holds a token, and resume a
// time. One that cannot be read would look as if it had been accepted.
func Requests(annotations map[string]string, now, resume string) field.ErrorList {
	var errs field.ErrorList
	at := At("metadata", "annotations")
	if value, has := annotations[now]; has {
		errs = append(errs, token(at.Key(now), value)...)
	}
	if value, has := annotations[resume]; has {
		errs = append(errs, timestamp(at.Key(resume), value)...)
	}
	return errs
}

func token(path Path, token string) field.ErrorList {
	switch {
	case token == "":
		return field.ErrorList{field.Required(path.Field(), "give a token that was not used before, such as the time; to request nothing, remove the annotation")}
	case utf8.RuneCountInString(token) > maxToken:
		return field.ErrorList{field.TooLong(path.Field(), "", maxToken)}
	case strings.ContainsFunc(token, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }):
		return field.ErrorList{field.Invalid(path.Field(), token, "must be of printable characters, such as the time")}
	}
	return nil
}

func timestamp(path Path, when string) field.ErrorList {
	if len(when) > maxTime {
		return field.ErrorList{field.TooLong(path.Field(), "", maxTime)}
	}
	if _, err := time.Parse(time.RFC3339, when); err != nil {
		return field.ErrorList{field.Invalid(path.Field(), when,
			"must be an RFC 3339 timestamp, such as 2026-03-02T14:00:00Z: a halt that began before it is cleared")}
	}
	return nil
}
