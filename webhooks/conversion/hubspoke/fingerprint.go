// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"encoding/binary"
	"encoding/hex"
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

// start is the fingerprint of nothing.
var start = fingerprint{offset, ^uint64(offset)}

// String is the digest that a restore annotation has.
func (f fingerprint) String() string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], f.one)
	binary.BigEndian.PutUint64(raw[8:], f.two)
	return hex.EncodeToString(raw[:])
}

// digest names a JSON value.
func digest(value []byte) string {
	s := scanner{value: value}
	return s.any(start).String()
}

// digest is that of the sections as one object.
func (s sections) digest() string {
	sum := start.mix('{')
	for _, part := range []struct{ name, value []byte }{{specName, s.spec}, {statusName, s.status}} {
		if part.value != nil {
			name, value := scanner{value: part.name}, scanner{value: part.value}
			sum = sum.plus(value.any(name.scalar(start)))
		}
	}
	return sum.String()
}

var specName, statusName = []byte(`"spec"`), []byte(`"status"`)

// Of FNV-1a with 64 bits.
const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

func (f fingerprint) mix(b byte) fingerprint {
	return fingerprint{(f.one ^ uint64(b)) * prime, (f.two ^ uint64(b)) * prime}
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

type scanner struct {
	value []byte
	at    int
}

// any hashes the value at hand, beginning from the hash of its path.
func (s *scanner) any(path fingerprint) fingerprint {
	switch s.peek() {
	case '{':
		return s.object(path)
	case '[':
		return s.list(path)
	}
	return s.scalar(path)
}

func (s *scanner) object(path fingerprint) fingerprint {
	sum := path.mix('{')
	for s.at++; s.inside('}'); s.comma() {
		member := s.scalar(path)
		s.peek()
		s.at++ // the colon
		if s.peek() == 'n' {
			s.scalar(path)
			continue
		}
		sum = sum.plus(s.any(member))
	}
	s.at++
	return sum
}

func (s *scanner) list(path fingerprint) fingerprint {
	sum := path.mix('[')
	n := uint64(0)
	for s.at++; s.inside(']'); s.comma() {
		n++
		sum = sum.plus(s.any(fingerprint{path.one + n*prime, path.two + n*prime}))
	}
	s.at++
	return sum
}

// inside says that the container goes on.
func (s *scanner) inside(end byte) bool { return s.peek() != end && s.at < len(s.value) }

func (s *scanner) comma() {
	if s.peek() == ',' {
		s.at++
	}
}

// scalar hashes a string, a number or a word.
func (s *scanner) scalar(hash fingerprint) fingerprint {
	if s.peek() == '"' {
		for first := true; s.at < len(s.value); first = false {
			b := s.value[s.at]
			s.at++
			hash = hash.mix(b)
			if b == '\\' && s.at < len(s.value) {
				hash = hash.mix(s.value[s.at])
				s.at++
			} else if b == '"' && !first {
				break
			}
		}
		return hash
	}
	for s.at < len(s.value) {
		switch b := s.value[s.at]; b {
		case ',', '}', ']', ':', ' ', '\t', '\n', '\r':
			return hash
		default:
			hash = hash.mix(b)
			s.at++
		}
	}
	return hash
}

// peek answers the next byte that is no white space; 0 at the end.
func (s *scanner) peek() byte {
	for s.at < len(s.value) {
		switch b := s.value[s.at]; b {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return b
		}
	}
	return 0
}
