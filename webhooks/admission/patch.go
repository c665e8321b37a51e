// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// operation is an operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// reservedPath is the prefix of the annotations that the patch may remove: only Stamp may set them.
const reservedPath = "/metadata/annotations/fairlead.dev~1"

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// newPatch returns the operations that repeat a mutation on the object that a user wrote; nil if there are none. before
// and after are the object around the mutation, both as their type writes them. The written object may have fields that
// the type does not know, and lack fields that the type always writes. No operation touches either. Reserved
// annotations are all that is removed.
func newPatch(written, before, after jsontext.Value) ([]byte, error) {
	var p patch
	p.diff("", written, before, after)
	if p.operations == nil || p.err != nil {
		return nil, p.err
	}
	return json.Marshal(p.operations)
}

type patch struct {
	operations []operation
	err        error
}

func (p *patch) diff(path string, written, before, after jsontext.Value) {
	if bytes.Equal(before, after) {
		return
	}
	op := "replace"
	if written == nil {
		op = "add"
	}
	was, is := p.members(before), p.members(after)
	switch {
	case was != nil && (is != nil || after == nil):
		members := p.members(written)
		if members == nil && is != nil { // the type writes an object that the user did not write
			p.add(op, path, jsontext.Value("{}"))
		}
		names := maps.Clone(was)
		maps.Copy(names, is)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			p.diff(path+"/"+escape.Replace(name), members[name], was[name], is[name])
		}
	case before.Kind() == jsontext.KindBeginArray && after.Kind() == jsontext.KindBeginArray:
		was, is, all := p.items(before), p.items(after), p.items(written)
		for i := range is {
			if i < min(len(was), len(all)) {
				p.diff(path+"/"+strconv.Itoa(i), all[i], was[i], is[i])
			} else {
				p.add("add", path+"/-", is[i])
			}
		}
	case after != nil:
		p.add(op, path, after)
	case written != nil && strings.HasPrefix(path, reservedPath):
		p.add("remove", path, nil)
	}
}

func (p *patch) add(op, path string, value jsontext.Value) {
	p.operations = append(p.operations, operation{op, path, json.RawMessage(value)})
}

// lenient are the options that accept whatever the API server accepts.
var lenient = []jsonv2.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// members returns the members of an object; nil if the value is no object.
func (p *patch) members(value jsontext.Value) (members map[string]jsontext.Value) {
	if value.Kind() == jsontext.KindBeginObject {
		p.err = errors.Join(p.err, jsonv2.Unmarshal(value, &members, lenient...))
	}
	return members
}

// items returns the items of a list; nil if the value is no list.
func (p *patch) items(value jsontext.Value) (items []jsontext.Value) {
	if value.Kind() == jsontext.KindBeginArray {
		p.err = errors.Join(p.err, jsonv2.Unmarshal(value, &items, lenient...))
	}
	return items
}
