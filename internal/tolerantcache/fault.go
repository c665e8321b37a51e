// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
)

const (
	// maxDepth bounds how deep a fault is looked for. The types are not as deep.
	maxDepth = 16
	// maxPath bounds what is said of a fault, in bytes: names of members are anybody's.
	maxPath = 200
)

// wrapper is what stands around a value in a document that holds this value alone.
type wrapper struct{ before, after string }

func member(name string) wrapper {
	quoted, _ := json.Marshal(name) // a string is always JSON
	return wrapper{"{" + string(quoted) + ":", "}"}
}

func (n wrapper) in(outer wrapper) wrapper {
	return wrapper{outer.before + n.before, n.after + outer.after}
}

func (n wrapper) wrap(value []byte) []byte {
	return slices.Concat([]byte(n.before), value, []byte(n.after))
}

// locate returns the path of the first value that does not decode, and what kind of value it is. The
// decoder's own words would do, were it not that they repeat values.
func locate(object []byte, decodes func(document []byte) bool) string {
	path, value := locateWithin("", object, wrapper{}, decodes, maxDepth)
	if path == "" {
		return "the whole of it does not decode"
	}
	if len(path) > maxPath {
		path = strings.ToValidUTF8(path[:maxPath], "") + "..."
	}
	return path + " is " + jsonType(value) + ", which does not fit there"
}

// locateWithin goes to the deepest value that fails by itself. One that fails also when it is empty is of the
// wrong sort, whatever it holds.
func locateWithin(path string, value []byte, around wrapper, decodes func([]byte) bool, depth int) (string, []byte) {
	if depth == 0 {
		return path, value
	}
	switch trimmed := bytes.TrimSpace(value); {
	case bytes.HasPrefix(trimmed, []byte("{")) && decodes(around.wrap([]byte("{}"))):
		var members map[string]json.RawMessage
		if kjson.UnmarshalCaseSensitivePreserveInts(value, &members) != nil {
			return path, value
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			inner := member(name).in(around)
			if !decodes(inner.wrap(members[name])) {
				return locateWithin(strings.TrimPrefix(path+"."+name, "."), members[name], inner, decodes, depth-1)
			}
		}
	case bytes.HasPrefix(trimmed, []byte("[")) && decodes(around.wrap([]byte("[]"))):
		var elements []json.RawMessage
		if kjson.UnmarshalCaseSensitivePreserveInts(value, &elements) != nil {
			return path, value
		}
		inner := wrapper{"[", "]"}.in(around)
		for i, element := range elements {
			if !decodes(inner.wrap(element)) {
				return locateWithin(path+"["+strconv.Itoa(i)+"]", element, inner, decodes, depth-1)
			}
		}
	}
	return path, value
}

// jsonType names what a JSON value is.
func jsonType(value []byte) string {
	trimmed := bytes.TrimSpace(value)
	if len(trimmed) == 0 {
		return "nothing"
	}
	switch trimmed[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
