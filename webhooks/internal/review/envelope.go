// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// Envelope is the kind of review that a handler understands.
type Envelope struct {
	// Kind and APIVersion of the review.
	Kind, APIVersion string
	// Versions is the field of the registration with the versions of the review to send.
	Versions string
}

// Request reads the body into the document, and hands every member of the review's request to a
// function. The error is a *Refusal.
func (e Envelope) Request(into *jsonindex.Document, body []byte, member func(name []byte, value jsonindex.Value) error) error {
	var kind, apiVersion, request jsonindex.Value
	review, err := into.Read(body)
	if err == nil {
		err = Members(review, func(name []byte, value jsonindex.Value) (err error) {
			switch string(name) {
			case "kind":
				kind, err = value, mustBeString(value)
			case "apiVersion":
				apiVersion, err = value, mustBeString(value)
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
	case !kind.EqualsText(e.Kind):
		return Refuse(http.StatusBadRequest, "the body is of kind %.100q: %s was expected", kind.TextOrEmpty(), e.Kind)
	case !apiVersion.EqualsText(e.APIVersion):
		return Refuse(http.StatusBadRequest, "%s of apiVersion %.100q is not understood; put v1 into %s", e.Kind, apiVersion.TextOrEmpty(), e.Versions)
	case request.Len() == 0:
		return Refuse(http.StatusBadRequest, "the %s has no request", e.Kind)
	}
	return nil
}

// WithoutUID refuses a request without a UID, which a response must name.
func (e Envelope) WithoutUID() error {
	return Refuse(http.StatusBadRequest, "the %s has no request.uid", e.Kind)
}

// maxMembers bounds the members of an envelope's object; a review has about twenty.
const maxMembers = 64

// Members, Items and String read the envelope around the objects of a review, where everything must
// be of the type that it should be, and be there once. Null counts as nothing.

// Members visits the members of an object. A name that is there twice is an error.
func Members(object jsonindex.Value, visit func(name []byte, value jsonindex.Value) error) error {
	if ok, err := must(object, '{', "an object"); !ok {
		return err
	}
	if object.Len() > maxMembers {
		return fmt.Errorf("%s has more than %d members", place(object), maxMembers)
	}
	seen := make([][]byte, 0, maxMembers)
	for name, value := range object.Fields() {
		if slices.ContainsFunc(seen, func(other []byte) bool { return bytes.Equal(name, other) }) {
			return fmt.Errorf("%q is given twice", name)
		}
		seen = append(seen, name)
		if err := visit(name, value); err != nil {
			return err
		}
	}
	return nil
}

// Items visits the items of a list.
func Items(list jsonindex.Value, visit func(item jsonindex.Value) error) error {
	if ok, err := must(list, '[', "an array"); !ok {
		return err
	}
	for item := range list.Elements() {
		if err := visit(item); err != nil {
			return err
		}
	}
	return nil
}

// String returns the content of a string.
func String(value jsonindex.Value) (string, error) {
	return value.TextOrEmpty(), mustBeString(value)
}

func mustBeString(value jsonindex.Value) error {
	_, err := must(value, '"', "a string")
	return err
}

// must reports whether there is something of the kind; the error is that there is something else.
func must(v jsonindex.Value, kind byte, what string) (bool, error) {
	switch is := v.Kind(); {
	case is == kind:
		return true, nil
	case is == 0, is == 'n' && !v.IsDocument():
		return false, nil
	}
	return false, fmt.Errorf("%s must be %s", place(v), what)
}

// place names a value in a message.
func place(v jsonindex.Value) string {
	if pointer := v.Pointer(); pointer != "" {
		return pointer
	}
	return "the body"
}
