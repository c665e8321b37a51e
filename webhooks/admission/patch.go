// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// operation is one of RFC 6902.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// reservedPath is where the annotations begin that a webhook may remove: only Stamp writes them.
const reservedPath = "/metadata/annotations/fairlead.dev~1"

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// newPatch returns the difference between an object before and after a mutation, both as their type writes them, as
// operations on the object that a user wrote; nil where there is none. That object may have members that the type does not
// know, and lack ones that it always writes. No operation touches either, nor removes more than reserved annotations.
func newPatch(written, before, after json.RawMessage) ([]byte, error) {
	var patch []operation
	if diff(&patch, "", written, before, after); patch == nil {
		return nil, nil
	}
	return json.Marshal(patch)
}

func diff(patch *[]operation, path string, written, before, after json.RawMessage) {
	if bytes.Equal(before, after) {
		return
	}
	op := "replace"
	if written == nil {
		op = "add"
	}
	was, wasObject := decoded[map[string]json.RawMessage](before)
	is, isObject := decoded[map[string]json.RawMessage](after)
	wasItems, wasList := decoded[[]json.RawMessage](before)
	items, isList := decoded[[]json.RawMessage](after)
	switch {
	case wasObject && (isObject || after == nil):
		members, has := decoded[map[string]json.RawMessage](written)
		if !has && isObject { // the type writes an object where the user wrote none
			*patch = append(*patch, operation{op, path, json.RawMessage("{}")})
		}
		for _, name := range slices.Sorted(maps.Keys(is)) {
			diff(patch, path+"/"+escape.Replace(name), members[name], was[name], is[name])
		}
		for _, name := range slices.Sorted(maps.Keys(was)) {
			if is[name] == nil {
				diff(patch, path+"/"+escape.Replace(name), members[name], was[name], nil)
			}
		}
	case wasList && isList:
		all, _ := decoded[[]json.RawMessage](written)
		for i := range items {
			if i < min(len(wasItems), len(all)) {
				diff(patch, path+"/"+strconv.Itoa(i), all[i], wasItems[i], items[i])
			} else {
				*patch = append(*patch, operation{"add", path + "/-", items[i]})
			}
		}
	case after != nil:
		*patch = append(*patch, operation{op, path, after})
	case written != nil && strings.HasPrefix(path, reservedPath):
		*patch = append(*patch, operation{Op: "remove", Path: path})
	}
}

// decoded reads an object or a list one level deep, and reports whether it is one.
func decoded[T map[string]json.RawMessage | []json.RawMessage](value json.RawMessage) (parts T, is bool) {
	return parts, json.Unmarshal(value, &parts) == nil && parts != nil
}
