// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Header is the type that an object says it has, and, after Identify, its name.
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
func Type(object []byte) (Header, error) {
	var h Header
	err := scan(object, func(d *jsontext.Decoder, name string) (bool, error) {
		var err error
		switch name {
		case "apiVersion":
			h.APIVersion, err = text(d)
		case "kind":
			h.Kind, err = text(d)
		default:
			_, err = d.ReadValue()
		}
		return h.APIVersion != "" && h.Kind != "", err
	})
	return h, err
}

// Identify reads as much of type, namespace and name as there is. It is for messages about objects
// that failed, and never fails itself.
func Identify(object []byte) Header {
	var h Header
	// What was read before an error is what can be said.
	_ = scan(object, func(d *jsontext.Decoder, name string) (bool, error) {
		var err error
		switch name {
		case "apiVersion":
			h.APIVersion, err = text(d)
		case "kind":
			h.Kind, err = text(d)
		case "metadata":
			var metadata jsontext.Value
			if metadata, err = d.ReadValue(); err == nil {
				h.identify(bytes.Clone(metadata))
			}
		default:
			_, err = d.ReadValue()
		}
		return false, err
	})
	return h
}

func (h *Header) identify(metadata []byte) {
	_ = scan(metadata, func(d *jsontext.Decoder, name string) (bool, error) {
		var err error
		switch name {
		case "name":
			h.Name, err = text(d)
		case "namespace":
			h.Namespace, err = text(d)
		default:
			_, err = d.ReadValue()
		}
		return h.Name != "" && h.Namespace != "", err
	})
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

// scan calls visit for the members of an object until it says that it has seen enough.
func scan(object []byte, visit func(d *jsontext.Decoder, name string) (enough bool, err error)) error {
	r := reader()
	defer readers.Put(r)
	r.source = *bytes.NewBuffer(object)
	defer func() { r.source = bytes.Buffer{} }()
	d := &r.decoder
	d.Reset(&r.source, jsontext.AllowDuplicateNames(true))
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != jsontext.KindBeginObject {
		return errNoObject
	}
	for d.PeekKind() != jsontext.KindEndObject {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		if enough, err := visit(d, token.String()); enough || err != nil {
			return err
		}
	}
	return nil
}

// text reads a value and answers it where it is a string.
func text(d *jsontext.Decoder) (string, error) {
	if d.PeekKind() != jsontext.KindString {
		_, err := d.ReadValue()
		return "", err
	}
	token, err := d.ReadToken()
	if err != nil {
		return "", err
	}
	return token.String(), nil
}
