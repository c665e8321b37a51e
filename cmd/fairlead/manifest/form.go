// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// AsJSON returns the document as indented JSON, in its order.
func (d *Document) AsJSON() ([]byte, error) {
	var out bytes.Buffer
	d.tree.json(&out)
	value := jsontext.Value(out.Bytes())
	if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
		return nil, err
	}
	return append(slices.Clone(value), '\n'), nil
}

// AsYAML returns the document as YAML: as it is, or in blocks where it was JSON.
func (d *Document) AsYAML() ([]byte, error) {
	if !d.json {
		return d.text, nil
	}
	e := &editor{eol: "\n", step: 2}
	lines, ok := e.encode(d.tree, 0)
	if !ok {
		return nil, errUnwritable
	}
	text := e.join(lines)
	if _, again, err := load(text); err != nil || !d.tree.is(again) {
		return nil, errUnwritable
	}
	return text, nil
}

// Decode reads a JSON value as Value returns it.
func Decode(raw []byte) (any, error) { return decode(raw) }

// Encode writes a value as JSON.
func Encode(value any) ([]byte, error) { return json.Marshal(value) }
