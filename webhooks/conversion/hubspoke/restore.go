// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"encoding/json"

	"github.com/fairlead-dev/fairlead/api/common"
)

// maxAnnotations is the API server's limit for all annotations of an object together, in bytes
// (k8s.io/apimachinery/pkg/api/validation, TotalAnnotationSizeLimitB), less a margin for other
// writers.
const maxAnnotations = 256<<10 - 4<<10

// restoreKey is one of the two restore annotations.
type restoreKey struct {
	annotation string
	form       string // the name of the saved form in the record
}

var (
	hubData   = restoreKey{common.ConversionDataAnnotation, "hub"}
	spokeData = restoreKey{common.V1Alpha1DataAnnotation, "spoke"}
)

// record is the value of a restore annotation.
type record struct {
	// Digest is that of the body which carries the annotation, as it was written: while it still
	// holds, nobody has edited the view.
	Digest string `json:"digest"`
	// Bulk counts the heavy parts left out of the form, as a bit for each entry of Pair.Bulk.
	Bulk uint64 `json:"bulk,omitempty"`
	// Partial says that sections were left out, since plain conversion tells them in full, or for
	// want of room.
	Partial bool `json:"partial,omitempty"`

	Hub   json.RawMessage `json:"hub,omitempty"`
	Spoke json.RawMessage `json:"spoke,omitempty"`
}

// of answers the form that is saved under the key.
func (r *record) of(k restoreKey) *json.RawMessage {
	if k == hubData {
		return &r.Hub
	}
	return &r.Spoke
}

// saved is a record that was read back, its bulk filled in again.
type saved struct {
	record
	body tree
}

// decode reads the saved form of the target from the source. Whatever is missing or corrupt is
// as if it had never been saved.
func (k restoreKey) decode(s source, bulk []bulkPath) (saved, bool) {
	var out saved
	value, has := s.annotations[k.annotation]
	if !has || json.Unmarshal([]byte(value), &out.record) != nil {
		return out, false
	}
	var err error
	if out.body, err = parseTree(*out.of(k)); err != nil {
		return out, false
	}
	for i, b := range bulk {
		if out.Bulk&(1<<i) == 0 {
			continue
		}
		if part, has := s.body.at(b.from); has {
			out.body = out.body.with(b.to, part)
		}
	}
	return out, true
}

// encode writes the annotation that saves what would be lost of the source, or an empty string
// where even the spec alone does not fit; wanted is its size in full, in bytes.
func (k restoreKey) encode(s source, lost, target tree, bulk []bulkPath) (annotation string, wanted int) {
	r := record{Digest: target.digest(), Partial: len(lost) < len(s.body)}
	for i, b := range bulk {
		mine, has := lost.at(b.from)
		if theirs, also := target.at(b.to); has && also && equal(mine, theirs) {
			lost = lost.without(b.from)
			r.Bulk |= 1 << i
		}
	}
	room := k.room(s.annotations)
	*r.of(k) = marshal(lost)
	value := marshal(r)
	wanted = len(value)
	if _, has := lost["status"]; has && len(value) > room {
		r.Partial = true
		*r.of(k) = marshal(lost.without([]string{"status"}))
		value = marshal(r)
	}
	if len(value) > room {
		return "", wanted
	}
	return string(value), wanted
}

// room is what the other annotations leave, in bytes.
func (k restoreKey) room(annotations map[string]string) int {
	room := maxAnnotations - len(k.annotation)
	for key, value := range annotations {
		if key != common.ConversionDataAnnotation && key != common.V1Alpha1DataAnnotation {
			room -= len(key) + len(value)
		}
	}
	return room
}
