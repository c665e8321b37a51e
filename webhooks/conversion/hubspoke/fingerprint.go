// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// fingerprint is a hash of a JSON value that depends neither on the order of names nor on white space, and
// ignores members that are null. Two spellings of one number or string differ: the values are compared then.
// The value must be valid JSON.
//
// It is two hashes of 64 bits, which a processor computes in the time of one. It only distinguishes an edited
// view from an unedited one of the same object: a forged one affects no other object.
type fingerprint struct{ one, two uint64 }

// seed is the initial fingerprint, the digits of pi.
var seed = fingerprint{0x243f6a8885a308d3, 0x13198a2e03707344}

// String returns the digest for a restore annotation.
func (f fingerprint) String() string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], f.one)
	binary.BigEndian.PutUint64(raw[8:], f.two)
	return hex.EncodeToString(raw[:])
}

// digest returns the digest of a JSON value.
func digest(value []byte) string {
	r := reader{json: value}
	return r.value(seed).String()
}

// digest returns the digest of an object with the spec as its only member. The status does not count: it
// changes by itself.
func (s sections) digest() string {
	sum := seed.word('{')
	if s.spec.exists() {
		r := reader{json: s.spec.json}
		sum = sum.plus(r.value(specName))
	}
	return sum.String()
}

var specName = pathOf(`"spec"`)

// pathOf returns the hash of a member's name at the top level.
func pathOf(quoted string) fingerprint {
	r := reader{json: []byte(quoted), at: len(quoted)}
	return r.bytes(seed, 0)
}

// reader hashes the values of a text in one pass. For a text that is not JSON the hash is meaningless, but it
// terminates, and never reads beyond the text.
type reader struct {
	json []byte
	at   int
}

// peek skips white space, and returns the next byte; 0 at the end.
func (r *reader) peek() byte {
	for r.at < len(r.json) {
		if b := r.json[r.at]; b > ' ' {
			return b
		}
		r.at++
	}
	return 0
}

// value hashes the next value, beginning from the hash of its path.
func (r *reader) value(f fingerprint) fingerprint {
	switch r.peek() {
	case '{':
		return r.object(f)
	case '[':
		return r.list(f)
	case '"':
		return r.text(f)
	}
	begin := min(r.at, len(r.json))
	for r.at < len(r.json) && !endsScalar(r.json[r.at]) {
		r.at++
	}
	return r.bytes(f, begin)
}

// endsScalar reports whether a byte ends a number or a word.
func endsScalar(b byte) bool { return b <= ' ' || b == ',' || b == '}' || b == ']' }

func (r *reader) object(f fingerprint) fingerprint {
	sum := f.word('{')
	for r.at++; r.peek() == '"'; r.next() {
		member := r.text(f)
		r.peek()
		r.at++ // the colon
		if r.peek() == 'n' {
			r.at += len("null")
			continue
		}
		sum = sum.plus(r.value(member))
	}
	r.at++
	return sum
}

func (r *reader) list(f fingerprint) fingerprint {
	sum, n := f.word('['), uint64(0)
	for r.at++; !endsList(r.peek()); r.next() {
		n++
		sum = sum.plus(r.value(f.word(n)))
	}
	r.at++
	return sum
}

func endsList(b byte) bool { return b == ']' || b == '}' || b == 0 }

// next skips a comma.
func (r *reader) next() {
	if r.peek() == ',' {
		r.at++
	}
}

func (r *reader) text(f fingerprint) fingerprint {
	begin := r.at
	r.at = jsonindex.EndOfText(r.json, begin)
	return r.bytes(f, begin)
}

// bytes hashes the text from begin on, eight bytes at a time, and the rest with its length.
func (r *reader) bytes(f fingerprint, begin int) fingerprint {
	end := min(r.at, len(r.json))
	for ; end-begin >= 8; begin += 8 {
		f = f.word(binary.LittleEndian.Uint64(r.json[begin:]))
	}
	rest := uint64(end - begin)
	if begin+8 <= len(r.json) { // the bytes after it are masked
		return f.word(rest<<56 | binary.LittleEndian.Uint64(r.json[begin:])&(1<<(8*rest)-1))
	}
	last := rest << 56
	for i, b := range r.json[begin:end] {
		last |= uint64(b) << (8 * i)
	}
	return f.word(last)
}

func (f fingerprint) word(w uint64) fingerprint {
	return fingerprint{fold(f.one^w, 0x9e3779b97f4a7c15), fold(f.two^w, 0xbf58476d1ce4e5b9)}
}

// fold multiplies, and mixes both halves of the product.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// plus adds a finished hash to a sum, mixed so that sums do not cancel out.
func (f fingerprint) plus(other fingerprint) fingerprint {
	return fingerprint{f.one + avalanche(other.one), f.two + avalanche(other.two)}
}

func avalanche(hash uint64) uint64 {
	hash ^= hash >> 33
	hash *= 0xff51afd7ed558ccd
	hash ^= hash >> 33
	return hash
}
