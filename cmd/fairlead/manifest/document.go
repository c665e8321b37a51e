// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	kyaml "sigs.k8s.io/yaml"
)

var errUnwritable = errors.New("the new object cannot be written in the form of this text; take out its anchors and tags, and try again")

// Document is a document that can be given another value.
type Document struct {
	text []byte
	line int
	// Root is the value of the document, as kubectl reads it.
	Root *Node
}

// Note records where the comments of a removed field went.
type Note struct {
	Line int
	Text string
}

// Parse reads a part. A document of nothing but comments is nil. The error is a Problem.
func Parse(p Part) (*Document, error) {
	values := Read(p)
	if len(values) == 0 {
		return nil, nil
	}
	if problem := values[0].Err; problem != nil {
		return nil, problem
	}
	d := &Document{text: p.Text, line: p.Line, Root: values[0].Root}
	var duplicate error
	d.Root.AllProblems(func(_ string, p Problem) {
		if duplicate == nil && p.Rule == "duplicate-key" { // one of them would be lost
			p.Message = fmt.Sprintf("key %.100q already set in map", p.Key)
			duplicate = &p
		}
	})
	if duplicate != nil || d.IsJSON() {
		return d, duplicate
	}
	value, err := kubectlValue(p.Text)
	switch {
	case err != nil:
		return nil, syntaxError(p.body(), err)
	case value == nil:
		return nil, nil
	case !d.Root.is(value):
		return nil, &Problem{Position: d.Root.Position, Rule: "syntax",
			Message: "kubectl reads this document differently; quote its unusual values, and write out its merge keys"}
	}
	return d, nil
}

// IsJSON reports whether the document is written in JSON.
func (d *Document) IsJSON() bool { return d.Root.layout == nil }

// kubectlValue returns the value of a YAML document as kubectl reads it.
func kubectlValue(text []byte) (value any, err error) {
	defer recovered(&err)
	raw, err := kyaml.YAMLToJSON(bytes.TrimPrefix(text, bom))
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// Rewrite returns the text of the part with another value. Members and items that stay keep their order, their style
// and their comments, and new members are added in the order of the value. Comments of removed fields go to the fields
// that replace them, or else stay, and a note records where. The text of the same value is the text of the part.
func (d *Document) Rewrite(to *Node) ([]byte, []Note, error) {
	value := to.Exact()
	switch {
	case d.Root.is(value):
		return d.text, nil, nil
	case d.IsJSON():
		text, err := d.rewriteJSON(to)
		return text, nil, err
	}
	for _, expand := range []bool{false, true} {
		text, notes, err := d.edit(to, expand)
		if err != nil {
			continue
		}
		if again, err := kubectlValue(text); err == nil && reflect.DeepEqual(again, value) {
			return text, notes, nil
		}
	}
	return nil, nil, errUnwritable
}

func (d *Document) rewriteJSON(to *Node) ([]byte, error) {
	body := Part{Text: d.text}.body().Text
	old := bytes.TrimSpace(body)
	head := len(d.text) - len(bytes.TrimLeft(body, " \t\r\n"))
	text, err := d.Root.merge(to).jsonLike(old)
	if err != nil {
		return nil, err
	}
	if again, err := ParseJSON(text); err != nil || !again.is(to.Exact()) {
		return nil, errUnwritable
	}
	return slices.Concat(d.text[:head], text, d.text[head+len(old):]), nil
}

// AsJSON returns the document as indented JSON, in its order.
func (d *Document) AsJSON() ([]byte, error) {
	text, err := d.Root.encodeJSON(jsontext.WithIndent("  "))
	return append(text, '\n'), err
}

// AsYAML returns the document as YAML: unchanged, or in block style where it was JSON.
func (d *Document) AsYAML() ([]byte, error) {
	if !d.IsJSON() {
		return d.text, nil
	}
	text, err := encode(new(writer).node(d.Root, place{}), 2, true)
	if err != nil {
		return nil, err
	}
	if again, err := kubectlValue(text); err != nil || !d.Root.is(again) {
		return nil, errUnwritable
	}
	return text, nil
}
