// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "net/http"

// Envelope is the kind of review that a handler understands.
type Envelope struct {
	// Kind and APIVersion of the review.
	Kind, APIVersion string
	// Versions is the field of the registration that says which versions of the review to send.
	Versions string
}

// Request reads the body into the document, and hands every member of the review's request to a
// function. The error is a *Refusal.
func (e Envelope) Request(into *Document, body []byte, member func(name []byte, value Value) error) error {
	var kind, apiVersion, request Value
	review, err := into.Read(body)
	if err == nil {
		err = Members(review, func(name []byte, value Value) (err error) {
			switch string(name) {
			case "kind":
				kind, err = value, value.mustBeText()
			case "apiVersion":
				apiVersion, err = value, value.mustBeText()
			case "request":
				request = value
			}
			return err
		})
	}
	if err == nil {
		err = Members(request, member)
	}
	switch {
	case err != nil:
		return Refuse(http.StatusBadRequest, "the body is not of kind %s: %v", e.Kind, err)
	case !kind.Says(e.Kind):
		return Refuse(http.StatusBadRequest, "the body is of kind %.100q: %s was expected", Said(kind), e.Kind)
	case !apiVersion.Says(e.APIVersion):
		return Refuse(http.StatusBadRequest, "%s of apiVersion %.100q is not understood; put v1 into %s", e.Kind, Said(apiVersion), e.Versions)
	case request.Len() == 0:
		return Refuse(http.StatusBadRequest, "the %s has no request", e.Kind)
	}
	return nil
}

// WithoutUID refuses a request that cannot be answered, for it does not say who it is.
func (e Envelope) WithoutUID() error {
	return Refuse(http.StatusBadRequest, "the %s has no request.uid", e.Kind)
}
