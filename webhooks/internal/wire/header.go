// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "errors"

// Header is the type that an object says it has, and its name.
type Header struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
}

var errNoObject = errors.New("not a JSON object")

// Type reads apiVersion and kind of an object, and stops there: as the API server writes them
// first, this costs the same for an object of any size. A missing one, or one that is no string,
// is empty.
func Type(object []byte) (apiVersion, kind []byte, err error) {
	c := NewCursor(object)
	if c.Peek() != '{' {
		return nil, nil, errNoObject
	}
	for name, value := range Fields(object) {
		switch string(name) {
		case "apiVersion":
			apiVersion = content(value)
		case "kind":
			kind = content(value)
		}
		if len(apiVersion) > 0 && len(kind) > 0 {
			break
		}
	}
	return apiVersion, kind, nil
}

// Identify reads as much of type, namespace and name as there is. It is for messages about objects
// that failed, and never fails itself.
func Identify(object []byte) Header {
	var h Header
	for name, value := range Fields(object) {
		switch string(name) {
		case "apiVersion":
			h.APIVersion, _ = Text(value)
		case "kind":
			h.Kind, _ = Text(value)
		case "metadata":
			h.named(value)
		}
	}
	return h
}

func (h *Header) named(metadata []byte) {
	for name, value := range Fields(metadata) {
		switch string(name) {
		case "name":
			h.Name, _ = Text(value)
		case "namespace":
			h.Namespace, _ = Text(value)
		}
	}
}

// Label is namespace/name for a message, cut to what a valid object can have.
func (h Header) Label() string {
	label := h.Name
	if label == "" {
		label = "(unnamed)"
	}
	if h.Namespace != "" {
		label = h.Namespace + "/" + label
	}
	return Cut(label, 320)
}
