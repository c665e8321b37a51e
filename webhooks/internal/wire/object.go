// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "github.com/go-json-experiment/json/jsontext"

// Object writes a JSON object by hand: Name before each value, which the caller appends, and End.
// The zero value begins one.
type Object struct{ begun bool }

// Name appends the name of the next member.
func (o *Object) Name(out, name []byte) []byte {
	out = append(out, o.separator())
	return append(Quote(out, name), ':')
}

// End appends the end.
func (o *Object) End(out []byte) []byte {
	if !o.begun {
		out = append(out, '{')
	}
	return append(out, '}')
}

func (o *Object) separator() byte {
	if o.begun {
		return ','
	}
	o.begun = true
	return '{'
}

// Quote appends a text as a JSON string. What is no UTF-8 in it is replaced.
func Quote[T ~string | ~[]byte](out []byte, text T) []byte {
	if begin := len(out) + 1; len(text) <= maxShort {
		out = append(append(out, '"'), text...)
		if plainUntil(out, begin) == len(out) {
			return append(out, '"')
		}
		out = out[:begin-1]
	}
	out, _ = jsontext.AppendQuote(out, text) // bad UTF-8 is the only error
	return out
}

// maxShort is up to what length, in bytes, a text is taken to need no escapes until it does.
const maxShort = 256
