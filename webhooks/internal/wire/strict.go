// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxMembers bounds the members of an envelope's object; a review has about twenty.
const maxMembers = 64

// Members, Items and String read the envelope around the objects of a review, where everything must
// be of the type that it should be, and stand there once. Null is as good as nothing.

// Members visits the members of an object. A name that stands there twice is an error.
func Members(object Value, visit func(name []byte, value Value) error) error {
	if ok, err := object.must('{', "an object"); !ok {
		return err
	}
	if object.Len() > maxMembers {
		return fmt.Errorf("%s has more than %d members", object.place(), maxMembers)
	}
	seen := make([][]byte, 0, maxMembers)
	for name, value := range object.Fields() {
		if slices.ContainsFunc(seen, func(other []byte) bool { return bytes.Equal(name, other) }) {
			return fmt.Errorf("%q stands there twice", name)
		}
		seen = append(seen, name)
		if err := visit(name, value); err != nil {
			return err
		}
	}
	return nil
}

// Items visits the items of a list.
func Items(list Value, visit func(item Value) error) error {
	if ok, err := list.must('[', "an array"); !ok {
		return err
	}
	for item := range list.Elements() {
		if err := visit(item); err != nil {
			return err
		}
	}
	return nil
}

// String returns what a string says.
func String(text Value) (string, error) {
	return Said(text), text.mustBeText()
}

func (v Value) mustBeText() error {
	_, err := v.must('"', "a string")
	return err
}

// Said returns what a string says; empty for anything else.
func Said(v Value) string {
	text, _ := v.Text()
	return text
}

// must says that there is something of the kind; the error is that there is something else.
func (v Value) must(kind byte, what string) (bool, error) {
	switch is := v.Kind(); {
	case is == kind:
		return true, nil
	case is == 0, is == 'n' && v.at > 0:
		return false, nil
	}
	return false, fmt.Errorf("%s must be %s", v.place(), what)
}

// place is where the value stands in the document, as a JSON pointer.
func (v Value) place() string {
	if v.at == 0 {
		return "the body"
	}
	var pointer strings.Builder
	for within := (Value{doc: v.doc}); within.at != v.at; {
		name, part := within.partWith(v.at)
		pointer.WriteString("/" + escapePointer.Replace(name))
		within = part
	}
	return pointer.String()
}

// partWith returns the part of a value that is, or has in it, the token at hand.
func (v Value) partWith(at int32) (name string, part Value) {
	n := 0
	for item := range v.Elements() {
		if at < v.doc.tokens[item.at].next {
			return strconv.Itoa(n), item
		}
		n++
	}
	for name, value := range v.Fields() {
		if at < v.doc.tokens[value.at].next {
			return string(name), value
		}
	}
	return "", Value{v.doc, at}
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")
