// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Translator names what is wrong with an object for a user who wrote it at another version than the
// webhooks see: by the fields that were written.
type Translator interface {
	// Error returns an error with the path that the field has at the version that was written.
	Error(err *field.Error) *field.Error
	// Warning does the same for a warning, which begins with a path.
	Warning(text string) string
}

// withTranslator gives a review its translator where the API server has converted the object (matchPolicy
// Equivalent); the review says which version was written.
func (h *handler) withTranslator(req request) request {
	if written := req.RequestKind; h.options.Translator != nil && written.Version != "" && written.Version != req.Kind.Version &&
		written.GroupKind() == req.Kind.GroupKind() {
		req.translator = h.options.Translator
	}
	return req
}

// invalid refuses the object by the fields of the version that was written.
func (r request) invalid(errs field.ErrorList) response {
	if r.translator == nil {
		return invalid(r.Request, errs)
	}
	translator := r.translator(r.RequestKind.Version, r.object.Bytes())
	// More errors than are shown need no translation.
	own := make(field.ErrorList, len(errs))
	copy(own, errs)
	for i := range own[:min(len(own), maxErrors)] {
		own[i] = translator.Error(own[i])
	}
	return invalid(r.Request, own)
}

// warnings returns warnings by the fields of the version that was written.
func (r request) warnings(given []string) []string {
	if r.translator == nil || len(given) == 0 {
		return given
	}
	translator := r.translator(r.RequestKind.Version, r.object.Bytes())
	own := make([]string, len(given))
	for i, text := range given {
		own[i] = translator.Warning(text)
	}
	return own
}
