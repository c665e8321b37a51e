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

// owned is what a managedFields entry says of data: {"f:data":{"f:key":{}}}.
type owned struct {
	Data       map[string]json.RawMessage `json:"f:data"`
	BinaryData map[string]json.RawMessage `json:"f:binaryData"`
}

// written is what managedFields say of keys, or of all where there are none.
type written struct {
	// values is when a manager last set one of them; zero where none is known to have.
	values time.Time
	// covered says that each key that is there has such a manager: only a removal can be later.
	covered bool
	// sure says that nothing can be later, since every chosen key is there.
	sure bool
	// any is when any manager last set anything.
	any time.Time
}

// recorded is when managedFields say that keys, or all where nil, were written last.
//
// The API server notes the time when a manager sets a value, together with all else that the manager
// owns, so the time is that of the write or later. It notes nothing when a key is removed.
func (c *content) recorded(keys []string) written {
	var w written
	held := make(map[string]bool, len(c.data))
	for i := range c.fields {
		e := &c.fields[i]
		if e.Time == nil {
			continue
		}
		w.any = latest(w.any, e.Time.Time)
		fields, ok := dataOf(e)
		if !ok || !fields.holds(keys, held) {
			continue
		}
		w.values = latest(w.values, e.Time.Time)
	}
	w.covered = !w.values.IsZero()
	for key := range c.data {
		if (keys == nil || slices.Contains(keys, key)) && !held[key] {
			w.covered = false
		}
	}
	w.sure = w.covered && keys != nil
	for _, key := range keys {
		if _, ok := c.data[key]; !ok {
			w.sure = false
		}
	}
	return w
}

func dataOf(e *metav1.ManagedFieldsEntry) (owned, bool) {
	var fields owned
	if e.FieldsV1 == nil || e.Subresource != "" {
		return fields, false
	}
	return fields, json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) == nil
}

// holds says whether any of keys, or any key at all where nil, is among the fields.
func (f *owned) holds(keys []string, held map[string]bool) bool {
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
