// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fingerprint

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
)

// Size is how many bytes a key has.
const Size = 32

// prefix names the algorithm, so that another one would differ.
const prefix = "hmac:"

// hashSize is how many of the 32 bytes of a hash a fingerprint has: without the key collisions cannot be searched, so
// that 128 bits are enough.
const hashSize = 16

// Key makes fingerprints. It is safe for concurrent use.
type Key struct{ secret [Size]byte }

var (
	_ fmt.Formatter = Key{}
	_ fmt.Formatter = (*Key)(nil)
)

// NewKey makes a Key of 32 random bytes.
func NewKey(secret []byte) (*Key, error) {
	if len(secret) != Size {
		return nil, fmt.Errorf("a fingerprint key has %d bytes, not %d", Size, len(secret))
	}
	return &Key{secret: [Size]byte(secret)}, nil
}

// Format keeps the key out of logs, whatever the verb.
func (Key) Format(to fmt.State, _ rune) {
	// A fmt.State has nowhere to report an error to.
	_, _ = io.WriteString(to, "fingerprint.Key")
}

// Data is the fingerprint of the values of keys, or of all keys where keys is nil. A chosen key that
// is missing is not the same as one with an empty value. Order and repetition of keys mean nothing.
func (k *Key) Data(data map[string][]byte, keys []string) string {
	h := k.newHash("data")
	chosen := slices.Sorted(maps.Keys(data))
	if keys != nil {
		chosen = slices.Compact(slices.Sorted(slices.Values(keys)))
	}
	var length [8]byte
	for _, name := range chosen {
		value, ok := data[name]
		writeField(h, &length, []byte(name))
		if !ok {
			// No value is as long as this.
			writeNumber(h, &length, ^uint64(0))
			continue
		}
		writeField(h, &length, value)
	}
	return finish(h)
}

// Sum is the fingerprint of parts, which differs between domains, and from any of Data.
func (k *Key) Sum(domain string, parts ...[]byte) string {
	h := k.newHash("sum")
	var length [8]byte
	writeField(h, &length, []byte(domain))
	for _, part := range parts {
		writeField(h, &length, part)
	}
	return finish(h)
}

// newHash starts a hash of one of our kinds.
func (k *Key) newHash(kind string) hash.Hash {
	h := hmac.New(sha256.New, k.secret[:])
	var length [8]byte
	writeField(h, &length, []byte(kind))
	return h
}

func finish(h hash.Hash) string {
	return prefix + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:hashSize])
}

// writeField writes the length first: without it, "ab","c" and "a","bc" would be the same.
func writeField(h hash.Hash, length *[8]byte, value []byte) {
	writeNumber(h, length, uint64(len(value)))
	_, _ = h.Write(value) // a hash never fails
}

func writeNumber(h hash.Hash, buffer *[8]byte, n uint64) {
	binary.BigEndian.PutUint64(buffer[:], n)
	_, _ = h.Write(buffer[:])
}
