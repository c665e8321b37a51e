// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Convert returns an object, as JSON, at a version of its group: the hub or v1alpha1. The object must be at the other
// one. It fails where the object is no JSON object, or where a value that is no object stands where a field has to go.
func (t Table) Convert(object []byte, group, version string) ([]byte, error) {
	root, is, err := members(object)
	if err != nil {
		return nil, err
	}
	if !is {
		return nil, errors.New("not a JSON object")
	}
	for _, move := range t {
		from, to := strings.Split(move.V1alpha1, "."), strings.Split(move.Hub, ".")
		if version == V1alpha1 {
			from, to = to, from
		}
		value, err := root.take(from)
		if err == nil && value != nil {
			err = root.put(to, value)
		}
		if err != nil {
			return nil, err
		}
	}
	apiVersion, err := jsontext.AppendQuote(nil, group+"/"+version)
	if err != nil {
		return nil, err
	}
	root.set("apiVersion", apiVersion)
	if root.find("metadata") < 0 { // which the API server demands, also of a part that server-side apply converts
		root.set("metadata", jsontext.Value("{}"))
	}
	return root.text(), nil
}

// node is a JSON object whose members are the text that they are.
type node []member

type member struct {
	name  string
	value jsontext.Value
}

// lenient takes all that an API server may have stored.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// members reads the members of an object; false where the value is of another type.
func members(value jsontext.Value) (node, bool, error) {
	if value.Kind() != jsontext.KindBeginObject {
		return nil, false, nil
	}
	var read node
	decoder := jsontext.NewDecoder(bytes.NewBuffer(value), lenient...)
	if _, err := decoder.ReadToken(); err != nil {
		return nil, false, err
	}
	for decoder.PeekKind() != jsontext.KindEndObject {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, false, err
		}
		m := member{name: name.String()}
		if m.value, err = decoder.ReadValue(); err != nil {
			return nil, false, err
		}
		m.value = m.value.Clone() // the decoder uses its memory again
		read = append(read, m)
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, false, err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, false, errors.New("there is more behind the object")
	}
	return read, true, nil
}

func (n node) text() jsontext.Value {
	size := 2
	for _, m := range n {
		size += len(m.name) + len(m.value) + 4
	}
	text := append(make([]byte, 0, size), '{')
	for i, m := range n {
		if i > 0 {
			text = append(text, ',')
		}
		text, _ = jsontext.AppendQuote(text, m.name) // a decoder has read it, so that it is valid
		text = append(append(text, ':'), m.value...)
	}
	return append(text, '}')
}

func (n node) find(name string) int {
	for i := range n {
		if n[i].name == name {
			return i
		}
	}
	return -1
}

func (n *node) set(name string, value jsontext.Value) {
	if i := n.find(name); i >= 0 {
		(*n)[i].value = value
		return
	}
	*n = append(*n, member{name, value})
}

// take removes the field at a path and returns its value; nil where there is none. An object below the spec that is left
// empty goes with it: at the other version nothing is in that place.
func (n *node) take(path []string) (jsontext.Value, error) {
	value, _, err := n.takeBelow(path, 0)
	return value, err
}

func (n *node) takeBelow(path []string, depth int) (value jsontext.Value, changed bool, err error) {
	i := n.find(path[0])
	if i < 0 {
		return nil, false, nil
	}
	if len(path) == 1 {
		value = (*n)[i].value
		*n = append((*n)[:i], (*n)[i+1:]...)
		return value, true, nil
	}
	inner, is, err := members((*n)[i].value)
	if err != nil || !is {
		return nil, false, err // what is no object has no such field
	}
	value, changed, err = inner.takeBelow(path[1:], depth+1)
	switch {
	case err != nil:
		return nil, false, err
	case len(inner) == 0 && depth > 0:
		*n = append((*n)[:i], (*n)[i+1:]...)
		return value, true, nil
	case changed:
		(*n)[i].value = inner.text()
	}
	return value, changed, nil
}

// put sets the field at a path, and makes the objects above it.
func (n *node) put(path []string, value jsontext.Value) error {
	if len(path) == 1 {
		n.set(path[0], value)
		return nil
	}
	var inner node
	if i := n.find(path[0]); i >= 0 && (*n)[i].value.Kind() != jsontext.KindNull {
		var is bool
		var err error
		if inner, is, err = members((*n)[i].value); err != nil {
			return err
		}
		if !is {
			return fmt.Errorf("%s: must be an object", path[0])
		}
	}
	if err := inner.put(path[1:], value); err != nil {
		return fmt.Errorf("%s.%w", path[0], err)
	}
	n.set(path[0], inner.text())
	return nil
}
