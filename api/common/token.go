// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

import (
	"strings"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxTokenLength is the length of a Token in characters.
const MaxTokenLength = 256

// Token is the value of an annotation by which a user requests something once. It has 1 to 256 printable characters,
// such as a time or the number of a build. The status keeps the value that was handled last, and every other value is
// one new request. A restart of the operator, or a tool that applies the same annotation again, therefore repeats no
// request. A value that an object has when it is first observed, without a status, counts as handled: the object may
// come from a backup.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
type Token string

// TokenOf returns the value of an annotation of an object. It is "" if the object lacks the annotation, or its value is
// no Token.
func TokenOf(object metav1.Object, annotation string) Token {
	if t := Token(object.GetAnnotations()[annotation]); t.IsValid() {
		return t
	}
	return ""
}

// IsValid reports whether t has 1 to 256 characters, all printable.
func (t Token) IsValid() bool {
	return t != "" && utf8.RuneCountInString(string(t)) <= MaxTokenLength && t.IsPrintable()
}

// IsPrintable reports whether t has only printable characters.
func (t Token) IsPrintable() bool {
	return !strings.ContainsFunc(string(t), func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) })
}
