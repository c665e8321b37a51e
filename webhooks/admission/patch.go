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

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
func newPatch(written, before, after jsontext.Value) ([]byte, error) {
	var patch []operation
	if diff(&patch, "", written, before, after); patch == nil {
		return nil, nil
	}
	return json.Marshal(patch)
}

func diff(patch *[]operation, path string, written, before, after jsontext.Value) {
	if bytes.Equal(before, after) {
		return
	}
	op := "replace"
	if written == nil {
		op = "add"
	}
	was, is := membersOf(before), membersOf(after)
	switch {
	case was != nil && (is != nil || after == nil):
		members := membersOf(written)
		if members == nil && is != nil { // the type writes an object where the user wrote none
			*patch = append(*patch, operation{op, path, json.RawMessage("{}")})
		}
		names := maps.Clone(was)
		maps.Copy(names, is)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			diff(patch, path+"/"+escape.Replace(name), members[name], was[name], is[name])
		}
	case isList(before) && isList(after):
		was, is, all := itemsOf(before), itemsOf(after), itemsOf(written)
		for i := range is {
			if i < min(len(was), len(all)) {
				diff(patch, path+"/"+strconv.Itoa(i), all[i], was[i], is[i])
			} else {
				*patch = append(*patch, operation{"add", path + "/-", json.RawMessage(is[i])})
			}
		}
	case after != nil:
		*patch = append(*patch, operation{op, path, json.RawMessage(after)})
	case written != nil && strings.HasPrefix(path, reservedPath):
		*patch = append(*patch, operation{Op: "remove", Path: path})
	}
}

// lenient takes all that the API server does.
var lenient = []jsonv2.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// membersOf returns the members of an object; nil where the value is none.
func membersOf(value jsontext.Value) (members map[string]jsontext.Value) {
	if bytes.HasPrefix(value, []byte("{")) {
		_ = jsonv2.Unmarshal(value, &members, lenient...) // another decoder has read it, so that it is valid
	}
	return members
}

func isList(value jsontext.Value) bool { return bytes.HasPrefix(value, []byte("[")) }

func itemsOf(value jsontext.Value) (items []jsontext.Value) {
	if isList(value) {
		_ = jsonv2.Unmarshal(value, &items, lenient...)
	}
	return items
}
