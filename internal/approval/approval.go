// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

const (
	// maxUser bounds the user's name in an approval, in bytes.
	maxUser = 256
	// maxValue bounds an approval that is read at all, in bytes: JSON writes a byte as six at most.
	maxValue = 6*maxUser + 128
)

// approval is the value of the annotation.
type approval struct {
	User   string `json:"user"`
	Digest string `json:"digest"`
}

// Value returns the value of the annotation that approves, for a user, what digest names.
func Value(user, digest string) string {
	value, err := json.Marshal(approval{User: shortened(user), Digest: digest})
	if err != nil {
		return "" // approves nothing
	}
	return string(value)
}

// Covers reports whether the value of an annotation is an approval of what digest names.
func Covers(value, digest string) bool {
	if value == "" || len(value) > maxValue || digest == "" {
		return false
	}
	var given approval
	return json.Unmarshal([]byte(value), &given) == nil && given.Digest == digest
}

// WithDigest returns the approval of what digest names by the user of an approval; "" where value is none.
func WithDigest(value, digest string) string {
	var given approval
	if len(value) > maxValue || json.Unmarshal([]byte(value), &given) != nil {
		return ""
	}
	return Value(given.User, digest)
}

// shortened is a name of bounded length that is still of one user only.
func shortened(user string) string {
	if len(user) <= maxUser {
		return user
	}
	sum := sha256.Sum256([]byte(user))
	mark := "...#" + hex.EncodeToString(sum[:])
	return strings.ToValidUTF8(user[:maxUser-len(mark)], "") + mark
}

// digestParts are the parts of a digest. Their order and repetition do not change it. Absent fields add no part: a field that a
// later version adds leaves the approvals of objects without it valid.
type digestParts []string

// add takes values that always marshal: texts, numbers, and lists, maps and structs of these.
func (p *digestParts) add(values ...any) {
	part, err := json.Marshal(values)
	if err != nil {
		part = []byte("unreadable") // and so no other digest's
	}
	*p = append(*p, string(part))
}

// digest names the parts; it is "" where there are none.
func (p digestParts) digest() string {
	if len(p) == 0 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(p))
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(sorted), "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}
