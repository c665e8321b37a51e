// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsontype

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/fairlead-dev/fairlead/internal/text"
)

const (
	// maxDepth bounds how deep a value is searched. The types are not as deep.
	maxDepth = 16
	// maxPath bounds the path, in bytes: users choose the names of members.
	maxPath = 200
)

// wrapper is the JSON around a value in a document that holds only this value.
type wrapper struct{ before, after string }

func member(name string) wrapper {
	quoted, _ := json.Marshal(name) // a string is always JSON
	return wrapper{"{" + string(quoted) + ":", "}"}
}

func (w wrapper) in(outer wrapper) wrapper {
	return wrapper{outer.before + w.before, w.after + outer.after}
}

func (w wrapper) wrap(value []byte) []byte {
	return slices.Concat([]byte(w.before), value, []byte(w.after))
}

// Mismatch returns the path of the first value of an object that does not decode, and its type, such as "a string"; an empty
// path where the object itself does not decode. It repeats no value, as the message of a decoder does.
func Mismatch(object []byte, decodes func(document []byte) bool) (path, is string) {
	path, value := locate("", object, wrapper{}, decodes, maxDepth)
	return text.Truncate(path, maxPath), typeOf(value)
}

// locate descends to the deepest value that fails by itself. An object or list that fails although it
// is empty has the wrong type.
func locate(path string, value []byte, around wrapper, decodes func([]byte) bool, depth int) (string, []byte) {
	if depth == 0 {
		return path, value
	}
	switch text := bytes.TrimSpace(value); {
	case bytes.HasPrefix(text, []byte("{")) && decodes(around.wrap([]byte("{}"))):
		var members map[string]json.RawMessage
		if kjson.UnmarshalCaseSensitivePreserveInts(value, &members) != nil {
			return path, value
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			inner := member(name).in(around)
			if !decodes(inner.wrap(members[name])) {
				return locate(strings.TrimPrefix(path+"."+name, "."), members[name], inner, decodes, depth-1)
			}
		}
	case bytes.HasPrefix(text, []byte("[")) && decodes(around.wrap([]byte("[]"))):
		var elements []json.RawMessage
		if kjson.UnmarshalCaseSensitivePreserveInts(value, &elements) != nil {
			return path, value
		}
		inner := wrapper{"[", "]"}.in(around)
		for i, element := range elements {
			if !decodes(inner.wrap(element)) {
				return locate(path+"["+strconv.Itoa(i)+"]", element, inner, decodes, depth-1)
			}
		}
	}
	return path, value
}

// typeOf returns the type of a JSON value.
func typeOf(value []byte) string {
	text := bytes.TrimSpace(value)
	if len(text) == 0 {
		return "nothing"
	}
	switch text[0] {
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
