// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonindex

import (
	"encoding/binary"
	"math/bits"

	"github.com/go-json-experiment/json/jsontext"
)

// plainUntil returns where the first byte from at on is that is not plain within a string: a quote,
// a backslash, a control character, or no ASCII; the length where there is none. Strings are most of
// an object, so this looks at eight bytes at a time.
func plainUntil(json []byte, at int) int {
	for ; at+8 <= len(json); at += 8 {
		if found := special(binary.LittleEndian.Uint64(json[at:])); found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for ; at < len(json); at++ {
		if b := json[at]; b < ' ' || b == '"' || b == '\\' || b >= 0x80 {
			break
		}
	}
	return at
}

// EndOfText returns where a string ends that begins with the quote at begin; the length where it does not.
func EndOfText(json []byte, begin int) int {
	for at := begin + 1; ; at++ {
		at = plainUntil(json, at)
		switch {
		case at >= len(json):
			return len(json)
		case json[at] == '"':
			return at + 1
		case json[at] == '\\':
			at++
		}
	}
}

const (
	ones  = 0x0101010101010101 // 1 in every byte
	highs = 0x8080808080808080 // the highest bit of every byte
)

// special marks the bytes that are not plain with their highest bit. Bytes behind the first one marked
// may be marked for nothing, by what a subtraction borrows.
func special(eight uint64) uint64 {
	quote, backslash := eight^ones*'"', eight^ones*'\\'
	control := (eight - ones*' ') &^ eight
	return (eight | control | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

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
