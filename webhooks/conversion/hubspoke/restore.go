// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"encoding/json"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	"github.com/fairlead-dev/fairlead/api/common"
)

// MaxAnnotations is what all annotations of an object may take together, in bytes, with a restore
// annotation among them: the API server's limit
// (k8s.io/apimachinery/pkg/api/validation, TotalAnnotationSizeLimitB), less a margin for other
// writers.
const MaxAnnotations = apivalidation.TotalAnnotationSizeLimitB - margin

const margin = 4 << 10

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
	// holds, the view was not edited.
	Digest string `json:"digest"`
	// Bulk counts the heavy parts left out of the form, as a bit for each entry of Pair.Bulk.
	Bulk uint64 `json:"bulk,omitempty"`
	// Partial says that the spec was left out, since plain conversion tells it in full.
	Partial bool `json:"partial,omitempty"`

	// Dropped is how many bytes the annotation would take in full, where they found no room. Then
	// there is nothing else in it: it tells admission that something is missing.
	Dropped int `json:"dropped,omitempty"`

	Hub   json.RawMessage `json:"hub,omitempty"`
	Spoke json.RawMessage `json:"spoke,omitempty"`
}

// of returns the form that is saved under the key.
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
	delete(out.body, "status") // which no annotation supplies; earlier versions saved it
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

// encode writes the annotation that saves what would be lost of the source, or one that only says so
// where that does not fit; wanted is its size in full, in bytes.
func (k restoreKey) encode(s source, lost, target tree, bulk []bulkPath) (annotation string, wanted int) {
	r := record{Digest: target.digest(), Partial: len(lost) < len(s.body)}
	for i, b := range bulk {
		mine, has := lost.at(b.from)
		if theirs, also := target.at(b.to); has && also && equal(mine, theirs) {
			lost = lost.without(b.from)
			r.Bulk |= 1 << i
		}
	}
	*r.of(k) = marshal(lost)
	value := marshal(r)
	if room := k.room(s.annotations); len(value) > room {
		return droppedNote(len(value), room+margin), len(value)
	}
	return string(value), len(value)
}

// droppedNote is an annotation that says that so many bytes found no room; empty where it finds none
// itself.
func droppedNote(bytes, room int) string {
	if note := marshal(record{Dropped: bytes}); len(note) <= room {
		return string(note)
	}
	return ""
}

// Dropped returns how many bytes a restore annotation lacks, as it says itself; 0 for none.
func Dropped(annotation string) int {
	var r record
	if annotation == "" || json.Unmarshal([]byte(annotation), &r) != nil {
		return 0
	}
	return r.Dropped
}

// room is what the other annotations leave, in bytes.
func (k restoreKey) room(annotations map[string]string) int {
	room := MaxAnnotations - len(k.annotation)
	for key, value := range annotations {
		if key != common.ConversionDataAnnotation && key != common.V1Alpha1DataAnnotation {
			room -= len(key) + len(value)
		}
	}
	return room
}
