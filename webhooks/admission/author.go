// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Author tells the author of an object, who wrote it at another version than the webhooks see, what
// they say about it: by the fields that were written, and with their values.
type Author interface {
	// Error returns an error, with the path that a field has at the author's version.
	Error(err *field.Error) *field.Error
	// Warning does the same for a warning, which begins with a path.
	Warning(text string) string
}

// addressed lets the answer to a review speak to its author. The API server converts what it sends
// (matchPolicy Equivalent), and says which version was written.
func (h *handler) addressed(asked review) review {
	if written := asked.RequestKind; h.Author != nil && written.Version != "" && written.Version != asked.Kind.Version &&
		written.GroupKind() == asked.Kind.GroupKind() {
		asked.author = h.Author
	}
	return asked
}

// invalid refuses the object, in the words of its author.
func (v review) invalid(errs field.ErrorList) answer {
	if v.author == nil {
		return invalid(v.Request, errs)
	}
	author := v.author(v.RequestKind.Version, v.object.Bytes())
	// More errors than are told need no translation.
	own := make(field.ErrorList, len(errs))
	copy(own, errs)
	for i := range own[:min(len(own), maxErrors)] {
		own[i] = author.Error(own[i])
	}
	return invalid(v.Request, own)
}

// warnings returns warnings in the words of the author.
func (v review) warnings(given []string) []string {
	if v.author == nil || len(given) == 0 {
		return given
	}
	author := v.author(v.RequestKind.Version, v.object.Bytes())
	own := make([]string, len(given))
	for i, text := range given {
		own[i] = author.Warning(text)
	}
	return own
}
