// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// To see how an object begins, not all of it must have been read: Fields looks for quotes and brackets
// only, and no further than it is asked. Of anything else than JSON it makes nonsense, but it ends,
// and never looks beyond it.

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

// Text returns what a string says; ok is false where value is no string.
func Text(value []byte) (text string, ok bool) {
	said := content(value)
	return string(said), said != nil
}

// content is what a string says; nil where value is no string.
func content(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	return plain(value)
}

// plain is the content of a string that stands in quotes.
func plain(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	// The only error is a string that is none, of which the readable part is answered.
	text, _ := jsontext.AppendUnquote([]byte{}, quoted)
	return text
}
