// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// fingerprint is a hash of a JSON value that does not depend on the order of names or on white
// space, and passes over members that are null. Two spellings of one number or string differ:
// whoever compares takes that for a difference, and looks more closely. The value must be valid
// JSON.
//
// It is two hashes of 64 bits side by side, which a processor computes in the time of one. It only
// ever tells an edited view from an untouched one of the same object: who forged one would deceive
// nobody but himself.
type fingerprint struct{ one, two uint64 }

// start is the fingerprint of nothing; the digits are those of pi.
var start = fingerprint{0x243f6a8885a308d3, 0x13198a2e03707344}

// String is the digest that a restore annotation has.
func (f fingerprint) String() string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], f.one)
	binary.BigEndian.PutUint64(raw[8:], f.two)
	return hex.EncodeToString(raw[:])
}

// digest names a JSON value.
func digest(value []byte) string {
	c := wire.NewCursor(value)
	return start.value(&c).String()
}

// digest is that of the sections as one object.
func (s sections) digest() string {
	sum := start.word('{')
	for _, part := range []struct {
		name string
		section
	}{{`"spec"`, s.spec}, {`"status"`, s.status}} {
		if part.exists() {
			c := wire.NewCursor(part.json)
			sum = sum.plus(start.bytes([]byte(part.name)).value(&c))
		}
	}
	return sum.String()
}

// value hashes the next value, beginning from the hash of its path.
func (f fingerprint) value(c *wire.Cursor) fingerprint {
	switch c.Peek() {
	case '{':
		sum := f.word('{')
		for more := c.Open('{'); more; more = c.More() {
			member := f.bytes(c.RawName())
			if c.Peek() == 'n' {
				c.Value()
				continue
			}
			sum = sum.plus(member.value(c))
		}
		return sum
	case '[':
		sum, n := f.word('['), uint64(0)
		for more := c.Open('['); more; more = c.More() {
			n++
			sum = sum.plus(f.word(n).value(c))
		}
		return sum
	}
	return f.bytes(c.Value())
}

// bytes takes in eight bytes at a time, and the rest of them with its length.
func (f fingerprint) bytes(value []byte) fingerprint {
	for ; len(value) >= 8; value = value[8:] {
		f = f.word(binary.LittleEndian.Uint64(value))
	}
	rest := uint64(len(value)) << 56
	for i, b := range value {
		rest |= uint64(b) << (8 * i)
	}
	return f.word(rest)
}

func (f fingerprint) word(w uint64) fingerprint {
	return fingerprint{fold(f.one^w, 0x9e3779b97f4a7c15), fold(f.two^w, 0xbf58476d1ce4e5b9)}
}

// fold multiplies, and mixes both halves of the product.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// plus adds a finished hash to a sum, spread over all bits, so that sums of them do not cancel out.
func (f fingerprint) plus(other fingerprint) fingerprint {
	return fingerprint{f.one + settle(other.one), f.two + settle(other.two)}
}

func settle(hash uint64) uint64 {
	hash ^= hash >> 33
	hash *= 0xff51afd7ed558ccd
	hash ^= hash >> 33
	return hash
}
