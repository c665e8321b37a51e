// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package requests decides which annotations request something that was not handled. The status has the token that was
// handled, and what is done for a request is stored in the same write.
package requests

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// New returns the token of an annotation that requests something; "" where it is the one that was handled.
func New(object metav1.Object, annotation string, handled common.Token) common.Token {
	if token := common.TokenOf(object, annotation); token != handled {
		return token
	}
	return ""
}

// Handle returns the token that was handled once what the annotation has now is. It is the one before where the annotation
// is absent: a token that is removed and set again requests nothing.
func Handle(object metav1.Object, annotation string, before common.Token) common.Token {
	return cmp.Or(common.TokenOf(object, annotation), before)
}

// Ignored returns why a token requests nothing that an object had when it was first observed.
func Ignored(annotation string, token common.Token) string {
	return fmt.Sprintf("annotation %s had the value %.64q before this object had a status, as after the restore of a backup: it requests nothing; set another value",
		annotation, token)
}

// HaltRemedy returns how a user ends a halt, as a part of a message, and why the token of the annotation did not.
func HaltRemedy(object metav1.Object, annotation string, handled common.Token) string {
	text := "to go on, change the spec, or set the annotation " + annotation + " to a new value"
	if token := common.TokenOf(object, annotation); token != "" && token == handled {
		text += fmt.Sprintf("; its value %.64q was set before the halt", token)
	}
	return text
}
