// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dataFields is what a managedFields entry says of data: {"f:data":{"f:key":{}}}.
type dataFields struct {
	Data       map[string]json.RawMessage `json:"f:data"`
	BinaryData map[string]json.RawMessage `json:"f:binaryData"`
}

// writeTimes is what managedFields say of keys, or of all where there are none.
type writeTimes struct {
	// values is when a manager last set one of them; zero where none is known to have.
	values time.Time
	// allKeysSet says that each key that is there has such a manager: only a removal can be later.
	allKeysSet bool
	// exact says that nothing can be later, since every chosen key is there.
	exact bool
	// latest is when any manager last set anything.
	latest time.Time
}

// writeTimes is when managedFields say that keys, or all where nil, were written last.
//
// The API server notes the time when a manager sets a value, together with all else that the manager
// owns, so the time is that of the write or later. It notes nothing when a key is removed.
func (c *content) writeTimes(keys []string) writeTimes {
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

// ownsAny says whether any of keys, or any key at all where nil, is among the fields.
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
