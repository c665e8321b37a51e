// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

const (
	// maxToken bounds the token of RestartNowAnnotation, in characters, as status.lastRestartNow does.
	maxToken = 256
	// maxTime bounds a time of RFC 3339, in bytes: with nine digits of a second it has 35.
	maxTime = 64
)

// requests checks the annotations by which a user asks for something. One that cannot be read would
// be taken for one that was heard.
func requests(annotations map[string]string) field.ErrorList {
	var errs field.ErrorList
	at := rules.At("metadata", "annotations")
	if token, has := annotations[autorebootv1.RestartNowAnnotation]; has {
		errs = append(errs, restartNow(at.Key(autorebootv1.RestartNowAnnotation), token)...)
	}
	if when, has := annotations[autorebootv1.ResumeAnnotation]; has {
		errs = append(errs, resume(at.Key(autorebootv1.ResumeAnnotation), when)...)
	}
	return errs
}

func restartNow(path rules.Path, token string) field.ErrorList {
	switch {
	case token == "":
		return field.ErrorList{field.Required(path.Field(), "give a token that was not used before, such as the time; to ask for nothing, take the annotation away")}
	case utf8.RuneCountInString(token) > maxToken:
		return field.ErrorList{field.TooLong(path.Field(), "", maxToken)}
	case strings.ContainsFunc(token, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }):
		return field.ErrorList{field.Invalid(path.Field(), token, "must be of printable characters, such as the time")}
	}
	return nil
}

func resume(path rules.Path, when string) field.ErrorList {
	if len(when) > maxTime {
		return field.ErrorList{field.TooLong(path.Field(), "", maxTime)}
	}
	if _, err := time.Parse(time.RFC3339, when); err != nil {
		return field.ErrorList{field.Invalid(path.Field(), when,
			"must be a time of RFC 3339, such as 2026-03-02T14:00:00Z: a halt that began before it is cleared")}
	}
	return nil
}
