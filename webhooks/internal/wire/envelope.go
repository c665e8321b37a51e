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

// Request hands every member of the review's request to a function. The error is a *Refusal.
func (e Envelope) Request(body []byte, member func(*Reader, []byte) error) error {
	var (
		kind, apiVersion string
		hasRequest       bool
	)
	err := Walk(body, func(r *Reader, name []byte) (err error) {
		switch string(name) {
		case "kind":
			kind, err = r.Text()
		case "apiVersion":
			apiVersion, err = r.Text()
		case "request":
			err = r.Object(func(r *Reader, name []byte) error {
				hasRequest = true
				return member(r, name)
			})
		default:
			err = r.Skip()
		}
		return err
	})
	switch {
	case err != nil:
		return Refuse(http.StatusBadRequest, "the body is not of kind %s: %v", e.Kind, err)
	case kind != e.Kind:
		return Refuse(http.StatusBadRequest, "the body is of kind %.100q: %s was expected", kind, e.Kind)
	case apiVersion != e.APIVersion:
		return Refuse(http.StatusBadRequest, "%s of apiVersion %.100q is not understood; put v1 into %s", e.Kind, apiVersion, e.Versions)
	case !hasRequest:
		return Refuse(http.StatusBadRequest, "the %s has no request", e.Kind)
	}
	return nil
}

// WithoutUID refuses a request that cannot be answered, for it does not say who it is.
func (e Envelope) WithoutUID() error {
	return Refuse(http.StatusBadRequest, "the %s has no request.uid", e.Kind)
}
