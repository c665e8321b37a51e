// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// owned is what a managedFields entry says of data: {"f:data":{"f:key":{}}}.
type owned struct {
	Data       map[string]json.RawMessage `json:"f:data"`
	BinaryData map[string]json.RawMessage `json:"f:binaryData"`
}

// recorded is when managedFields say that keys, or all where nil, were written last; zero where they
// do not say.
//
// The API server notes the time when a manager sets a value, together with all else that the manager
// owns, so the time is that of the write or later. It notes nothing when a key is removed: sure says
// that this cannot matter, because every chosen key is there and somebody owns it.
func (c *content) recorded(keys []string) (at time.Time, sure bool) {
	held := make(map[string]bool, len(keys))
	for i := range c.fields {
		e := &c.fields[i]
		if e.Time == nil {
			continue
		}
		fields, ok := dataOf(e)
		if !ok || !fields.holds(keys, held) {
			continue
		}
		at = latest(at, e.Time.Time)
	}
	if keys == nil {
		return at, false
	}
	for _, key := range keys {
		if _, ok := c.data[key]; !ok || !held[key] {
			return at, false
		}
	}
	return at, !at.IsZero()
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
