// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import "fmt"

// fingerprint is a hash of a JSON value that does not depend on the order of names or on white
// space, and passes over members that are null. Two spellings of one number or string differ:
// whoever compares takes that for a difference, and looks more closely. The value must be valid
// JSON.
func fingerprint(value []byte) uint64 { return seeded(value, offset) }

// digest names a JSON value by two fingerprints, 128 bits together. It only ever tells an edited
// view from an untouched one of the same object: who forged one would deceive nobody but himself.
func digest(value []byte) string {
	return fmt.Sprintf("%016x%016x", seeded(value, offset), seeded(value, ^uint64(offset)))
}

func seeded(value []byte, seed uint64) uint64 {
	s := scanner{value: value}
	return s.any(seed)
}

// Of FNV-1a with 64 bits.
const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

type scanner struct {
	value []byte
	at    int
}

func mix(hash uint64, b byte) uint64 { return (hash ^ uint64(b)) * prime }

// settle spreads a finished hash over all bits, so that sums of them do not cancel out.
func settle(hash uint64) uint64 {
	hash ^= hash >> 33
	hash *= 0xff51afd7ed558ccd
	hash ^= hash >> 33
	return hash
}

// any hashes the value at hand, beginning from the hash of its path.
func (s *scanner) any(path uint64) uint64 {
	switch s.peek() {
	case '{':
		return s.container(mix(path, '{'), '}', func(sum uint64, _ int) uint64 {
			member := s.scalar(path)
			s.peek()
			s.at++ // the colon
			if s.peek() == 'n' {
				s.scalar(path)
				return sum
			}
			return sum + settle(s.any(member))
		})
	case '[':
		return s.container(mix(path, '['), ']', func(sum uint64, n int) uint64 {
			return sum + settle(s.any(path+uint64(n+1)*prime))
		})
	}
	return s.scalar(path)
}

// container sums up what next makes of each item.
func (s *scanner) container(sum uint64, end byte, next func(sum uint64, n int) uint64) uint64 {
	s.at++
	for n := 0; s.peek() != end && s.at < len(s.value); n++ {
		sum = next(sum, n)
		if s.peek() == ',' {
			s.at++
		}
	}
	s.at++
	return sum
}

// scalar hashes a string, a number or a word.
func (s *scanner) scalar(hash uint64) uint64 {
	if s.peek() == '"' {
		for first := true; s.at < len(s.value); first = false {
			b := s.value[s.at]
			s.at++
			hash = mix(hash, b)
			if b == '\\' && s.at < len(s.value) {
				hash = mix(hash, s.value[s.at])
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
			hash = mix(hash, b)
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
