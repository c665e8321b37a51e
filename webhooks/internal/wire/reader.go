// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// maxMembers bounds the members of an envelope's object; a review has about twenty.
const maxMembers = 64

// Reader walks the envelope around the objects of a review in one pass. Names are matched exactly,
// a repeated one is an error, and every byte of the body is checked to be JSON.
type Reader struct {
	body    []byte
	source  bytes.Buffer
	decoder jsontext.Decoder
	seen    [][]byte // names of the objects that are being read, the outer ones' first
}

var readers sync.Pool

func reader() *Reader {
	if r, ok := readers.Get().(*Reader); ok {
		return r
	}
	return new(Reader)
}

// release gives a reader back that refers to nobody's bytes.
func (r *Reader) release() {
	clear(r.seen[:cap(r.seen)])
	r.body, r.source, r.seen = nil, bytes.Buffer{}, r.seen[:0]
	readers.Put(r)
}

// Walk reads the body, which is one JSON object, and calls visit for each of its members. Visit
// consumes the member's value by exactly one call of Text, Value, Object or Array. What Value
// answers is a part of body.
func Walk(body []byte, visit func(r *Reader, name []byte) error) error {
	r := reader()
	defer r.release()
	r.body, r.source = body, *bytes.NewBuffer(body)
	// Repeated names inside the objects are the decoder's of the object to find; looking for them
	// here would cost a hash per member of every object.
	r.decoder.Reset(&r.source, jsontext.AllowDuplicateNames(true))
	if err := r.Object(visit); err != nil {
		return err
	}
	if _, err := r.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("there is more after the end of the JSON object, at byte %d", r.decoder.InputOffset())
	}
	return nil
}

// Object visits the members of the next value, which is an object; null is an object without any.
func (r *Reader) Object(visit func(r *Reader, name []byte) error) error {
	if present, err := r.enter(jsontext.KindBeginObject, "an object"); !present {
		return err
	}
	first := len(r.seen)
	for r.decoder.PeekKind() != jsontext.KindEndObject {
		quoted, err := r.whole()
		if err != nil {
			return err
		}
		name := plain(quoted)
		if slices.ContainsFunc(r.seen[first:], func(other []byte) bool { return bytes.Equal(name, other) }) {
			return fmt.Errorf("%q stands there twice", name)
		}
		if len(r.seen)-first == maxMembers {
			return fmt.Errorf("an object of the review has more than %d members", maxMembers)
		}
		r.seen = append(r.seen, name)
		if err := visit(r, name); err != nil {
			return err
		}
	}
	r.seen = r.seen[:first]
	_, err := r.decoder.ReadToken()
	return err
}

// Array calls visit before each item of the next value, which is an array or null.
func (r *Reader) Array(visit func(r *Reader) error) error {
	if present, err := r.enter(jsontext.KindBeginArray, "an array"); !present {
		return err
	}
	for r.decoder.PeekKind() != jsontext.KindEndArray {
		if err := visit(r); err != nil {
			return err
		}
	}
	_, err := r.decoder.ReadToken()
	return err
}

// enter reads the opening token; present is false on null and on error.
func (r *Reader) enter(kind jsontext.Kind, what string) (present bool, err error) {
	switch next := r.decoder.PeekKind(); {
	case next == kind:
		_, err = r.decoder.ReadToken()
		return err == nil, err
	case next == jsontext.KindNull && r.decoder.StackDepth() > 0:
		return false, r.Skip()
	}
	at := r.decoder.StackPointer()
	if _, err := r.decoder.ReadToken(); err != nil {
		return false, err
	}
	return false, fmt.Errorf("%s must be %s", place(at), what)
}

// Text reads a string; null is the empty one.
func (r *Reader) Text() (string, error) {
	token, err := r.decoder.ReadToken()
	if err != nil {
		return "", err
	}
	switch token.Kind() {
	case jsontext.KindString:
		return token.String(), nil
	case jsontext.KindNull:
		return "", nil
	}
	return "", fmt.Errorf("%s must be a string", place(r.decoder.StackPointer()))
}

// Value reads any value and answers its bytes, a part of the body; nil for null.
func (r *Reader) Value() ([]byte, error) {
	value, err := r.whole()
	if err != nil || value[0] == 'n' {
		return nil, err
	}
	return value, nil
}

// whole is Value with null, and the name of a member, as it stands there.
func (r *Reader) whole() ([]byte, error) {
	value, err := r.decoder.ReadValue()
	if err != nil {
		return nil, err
	}
	// The slice is taken from the body, because the decoder's own is good only until its next call.
	end := r.decoder.InputOffset()
	return r.body[end-int64(len(value)) : end : end], nil
}

// Skip passes over a value.
func (r *Reader) Skip() error {
	_, err := r.decoder.ReadValue()
	return err
}

func place(at jsontext.Pointer) string {
	if at == "" {
		return "the body"
	}
	return string(at)
}
