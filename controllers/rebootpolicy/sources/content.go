// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// content is a source as it was read. It is not kept.
type content struct {
	version string
	created time.Time // zero where that is not known
	// immutable means that it can change only by a deletion and a new creation.
	immutable bool
	fields    []metav1.ManagedFieldsEntry
	data      map[string][]byte
	marks     rules.Marks
	// mounts are those of a SecretProviderClass, of which one has what counts, and written is when that was written; zero for
	// another kind, of which the fields say so.
	mounts  []mount
	written time.Time
}

// without returns the content without some keys.
func (c *content) without(keys []string) *content {
	if len(keys) == 0 {
		return c
	}
	left := *c
	left.data = maps.Clone(c.data)
	for _, key := range keys {
		delete(left.data, key)
	}
	return &left
}

// viewResult is what one view has of a content; Missing without one.
type viewResult struct {
	state State
	writeTimes
}

// evaluate makes fingerprints of a content; nil is a source that is missing or was not read.
func (s *Sources) evaluate(found *content, wants map[viewKey]Want) map[viewKey]viewResult {
	results := make(map[viewKey]viewResult, len(wants))
	for key, want := range wants {
		if found == nil {
			results[key] = viewResult{state: State{Missing: true}}
			continue
		}
		found, mounts := found, (*Mounts)(nil)
		if found.mounts != nil {
			if found, mounts = s.mounted(found, &want); found == nil {
				results[key] = viewResult{state: State{Unknown: autorebootv1.ReasonVersionsDiffer}}
				continue
			}
		}
		found, keys := found.without(want.ExcludedKeys), want.Keys
		if want.Certificate != "" {
			keys = []string{want.Certificate}
		}
		seen := viewResult{state: s.fingerprint(found, &want)}
		if seen.state.Unknown == "" {
			seen.state.Version, seen.state.Keys, seen.state.AbsentKeys = found.version, s.keysOf(found, &want, keys), found.absent(want.Keys)
		}
		seen.writeTimes, seen.state.Marks, seen.state.Mounts = found.writeTimes(keys), found.marks, mounts
		seen.state.Created, seen.state.Immutable = found.created, found.immutable
		results[key] = seen
	}
	return results
}

// fingerprint depends on the name of the source: a tenant who creates a Secret with a guess in it must not see the
// fingerprint of another one with the same content.
func (s *Sources) fingerprint(found *content, want *Want) State {
	id := func(domain string, what []byte) string {
		return s.options.Key.Sum(domain, []byte(want.Kind), []byte(want.Namespace), []byte(want.Name), what)
	}
	if want.Certificate == "" {
		return State{Fingerprint: id("source", []byte(s.options.Key.Data(found.data, want.Keys)))}
	}
	file, ok := found.data[want.Certificate]
	if !ok {
		return State{Unknown: autorebootv1.ReasonKeyNotFound}
	}
	leaf, err := leafOf(file)
	if err != nil {
		// The error may quote the content.
		return State{Unknown: autorebootv1.ReasonNotACertificate}
	}
	return State{Fingerprint: id("certificate", leaf.Raw), NotAfter: leaf.NotAfter}
}

// keysOf returns a hash of the names of the keys that exist, of those that count.
func (s *Sources) keysOf(found *content, want *Want, keys []string) string {
	parts := [][]byte{[]byte(want.Kind), []byte(want.Namespace), []byte(want.Name)}
	for _, key := range slices.Sorted(maps.Keys(found.data)) {
		if keys == nil || slices.Contains(keys, key) {
			parts = append(parts, []byte(key))
		}
	}
	_, sum, _ := strings.Cut(s.options.Key.Sum("keys", parts...), ":")
	return sum[:min(len(sum), 8)]
}

// absent returns the keys that do not exist, in order and with commas between them.
func (c *content) absent(keys []string) string {
	var absent []string
	for _, key := range keys {
		if _, ok := c.data[key]; !ok {
			absent = append(absent, key)
		}
	}
	slices.Sort(absent)
	return strings.Join(absent, ", ")
}

// leafOf returns the first certificate of a file, which by the TLS convention is the leaf.
func leafOf(file []byte) (*x509.Certificate, error) {
	for {
		block, rest := pem.Decode(file)
		if block == nil {
			return nil, x509.ErrUnsupportedAlgorithm
		}
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
		file = rest
	}
}

// update compares a result with the previous one, to find out when it was written.
func (v *view) update(seen viewResult, now time.Time) {
	state, before := seen.state, v.state
	same := v.known && before.Missing == state.Missing && before.Fingerprint == state.Fingerprint
	moved := v.known && seen.values.After(v.valuesSet)
	switch {
	case state.Unknown != "":
	case seen.exact:
		state.Written = seen.values
	case same && !moved:
		state = before
	case same:
		state.Written = latest(before.Written, seen.values)
	case moved:
		state.Written = seen.values
	default:
		// The time of a write that removes a key is recorded nowhere.
		state.Written, state.FirstSeen = now, !v.known
		if seen.allKeysSet {
			state.ValuesWritten = seen.values
		}
	}
	state.Marks, state.Created, state.Immutable = seen.state.Marks, seen.state.Created, seen.state.Immutable
	if state.Unknown == "" {
		state.Writer = seen.writer
	}
	if state.Unknown == "" {
		if state.Recorded, state.Since = seen.latest, v.state.Since; !same {
			state.Since = now
		}
	}
	v.state, v.known, v.valuesSet = state, true, latest(v.valuesSet, seen.values)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// dataFields is what a managedFields entry has about data: {"f:data":{"f:key":{}}}.
type dataFields struct {
	Data       map[string]json.RawMessage `json:"f:data"`
	BinaryData map[string]json.RawMessage `json:"f:binaryData"`
}

// writeTimes is what managedFields say of keys, or of all where there are none.
type writeTimes struct {
	// values is when a manager last set one of them; zero where none is known to have.
	values time.Time
	// allKeysSet means that each key that is there has such a manager: only a removal can be later.
	allKeysSet bool
	// exact means that nothing can be later, since every chosen key is there.
	exact bool
	// latest is when any manager last set anything.
	latest time.Time
	// writer is the manager that set one of them last; empty where none is known to have.
	writer string
}

// LastWrite returns when the data of a ConfigMap or Secret was written last, and the manager that wrote it. The time is zero if no
// manager is known to own a key.
func LastWrite(managedFields []metav1.ManagedFieldsEntry) (at time.Time, writer string) {
	w := (&content{fields: managedFields}).writeTimes(nil)
	return w.values, w.writer
}

// writeTimes is when managedFields say that keys, or all where nil, were written last.
//
// The API server notes the time when a manager sets a value, together with all else that the manager
// owns, so the time is that of the write or later. It notes nothing when a key is removed.
func (c *content) writeTimes(keys []string) writeTimes {
	if !c.written.IsZero() {
		return writeTimes{values: c.written, allKeysSet: true, exact: true, latest: c.written}
	}
	var w writeTimes
	held := make(map[string]bool, len(c.data))
	for i := range c.fields {
		e := &c.fields[i]
		if e.Time == nil {
			continue
		}
		w.latest = latest(w.latest, e.Time.Time)
		fields, ok := dataFieldsOf(e)
		if !ok || !fields.ownsAny(keys, held) {
			continue
		}
		if w.writer == "" || e.Time.After(w.values) {
			w.writer = e.Manager
		}
		w.values = latest(w.values, e.Time.Time)
	}
	w.allKeysSet = !w.values.IsZero()
	for key := range c.data {
		if (keys == nil || slices.Contains(keys, key)) && !held[key] {
			w.allKeysSet = false
		}
	}
	w.exact = w.allKeysSet && keys != nil
	for _, key := range keys {
		if _, ok := c.data[key]; !ok {
			w.exact = false
		}
	}
	return w
}

func dataFieldsOf(e *metav1.ManagedFieldsEntry) (dataFields, bool) {
	var fields dataFields
	if e.FieldsV1 == nil || e.Subresource != "" {
		return fields, false
	}
	return fields, json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) == nil
}

// ownsAny reports whether any of keys, or any key at all where nil, is among the fields.
func (f *dataFields) ownsAny(keys []string, held map[string]bool) bool {
	if keys == nil {
		for _, of := range []map[string]json.RawMessage{f.Data, f.BinaryData} {
			for key := range of {
				if name, ok := strings.CutPrefix(key, "f:"); ok {
					held[name] = true
				}
			}
		}
		return f.Data != nil || f.BinaryData != nil
	}
	found := false
	for _, key := range keys {
		_, text := f.Data["f:"+key]
		_, binary := f.BinaryData["f:"+key]
		if text || binary {
			held[key], found = true, true
		}
	}
	return found
}
