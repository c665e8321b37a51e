// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// What Walk has passed over is known to be JSON. To take it apart it need not be checked again:
// Fields and Elements look for quotes and brackets only. Of anything else than JSON they make
// nonsense, but they end, and never look beyond it.

// Fields ranges over the members of an object, in the order in which they stand there, names
// without their quotes; over none where it is no object.
func Fields(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		c := NewCursor(object)
		for more := c.Open('{'); more; more = c.More() {
			name, value := c.Name(), c.Value()
			if len(value) == 0 || !yield(name, value) {
				return
			}
		}
	}
}

// Elements ranges over the items of a list; over none where it is no list.
func Elements(list []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		c := NewCursor(list)
		for more := c.Open('['); more; more = c.More() {
			if value := c.Value(); len(value) == 0 || !yield(value) {
				return
			}
		}
	}
}

// Text answers what a string says; ok is false where value is no string.
func Text(value []byte) (text string, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	return string(plain(value)), true
}

// plain is the content of a string that stands in quotes.
func plain(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	// The only error is a string that is none, of which the readable part is answered.
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return text
}
