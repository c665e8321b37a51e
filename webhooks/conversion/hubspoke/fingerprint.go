// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// fingerprint is a hash of a JSON value that does not depend on the order of names or on white
// space, and passes over members that are null. Two spellings of one number or string differ:
// the comparison takes that for a difference, and looks more closely. The value must be valid
// JSON.
//
// It is two hashes of 64 bits side by side, which a processor computes in the time of one. It only
// ever tells an edited view from an untouched one of the same object: a user who forged one would deceive
// only themselves.
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
	r := reader{json: value}
	return r.value(start).String()
}

// digest is that of the spec as an object's only member. The status does not count: it changes by
// itself.
func (s sections) digest() string {
	sum := start.word('{')
	if s.spec.exists() {
		r := reader{json: s.spec.json}
		sum = sum.plus(r.value(specName))
	}
	return sum.String()
}

var specName = pathOf(`"spec"`)

// pathOf is the hash that a member begins from, of an object that is all there is.
func pathOf(quoted string) fingerprint {
	r := reader{json: []byte(quoted), at: len(quoted)}
	return r.bytes(start, 0)
}

// reader hashes the values of a text, which it goes through once. Of anything else than JSON it makes
// nonsense, but it ends, and never looks beyond it.
type reader struct {
	json []byte
	at   int
}

// peek passes over white space, and returns what comes then; 0 at the end.
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
	for r.at < len(r.json) && !ends(r.json[r.at]) {
		r.at++
	}
	return r.bytes(f, begin)
}

// ends says that a number or a word is over.
func ends(b byte) bool { return b <= ' ' || b == ',' || b == '}' || b == ']' }

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
	for r.at++; !over(r.peek()); r.next() {
		n++
		sum = sum.plus(r.value(f.word(n)))
	}
	r.at++
	return sum
}

func over(b byte) bool { return b == ']' || b == '}' || b == 0 }

// next passes over a comma.
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

// bytes takes in the text from begin on, eight bytes at a time, and the rest of them with its length.
func (r *reader) bytes(f fingerprint, begin int) fingerprint {
	end := min(r.at, len(r.json))
	for ; end-begin >= 8; begin += 8 {
		f = f.word(binary.LittleEndian.Uint64(r.json[begin:]))
	}
	rest := uint64(end - begin)
	if begin+8 <= len(r.json) { // what follows is masked
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
