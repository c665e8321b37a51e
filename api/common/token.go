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

// Token is the value of an annotation by which a user requests something once: 1 to 256 printable characters, such as the
// time or the number of a build. Each value other than the one that was handled last is one request. The status has
// that one, so that neither a restart of the operator nor a tool that applies the annotation again repeats a request. What
// an object has when it is first observed, without a status, was handled before: it may have been restored from a backup.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
type Token string

// TokenOf returns the value of an annotation of an object; "" where there is none, or it is no Token.
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

// IsPrintable reports whether t has no characters but printable ones.
func (t Token) IsPrintable() bool {
	return !strings.ContainsFunc(string(t), func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) })
}
