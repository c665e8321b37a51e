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
	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

var errUnwritable = errors.New("the new object cannot be written so that kubectl reads it again")

// Document is a document that can be given another value.
type Document struct {
	part Part
	// Root is the value of the document, as kubectl reads it.
	Root *Node
	// JSON means that it is written in JSON.
	JSON bool
}

// Note is something that a new text does not have, and where the old one has it.
type Note struct {
	Position
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
	d := &Document{part: p, Root: values[0].Root, JSON: values[0].json}
	var duplicate error
	d.Root.AllProblems(func(_ string, p Problem) {
		if duplicate == nil && p.Rule == "duplicate-key" { // one of them would be lost
			p.Message = fmt.Sprintf("key %.100q already set in map", p.Key)
			duplicate = &p
		}
	})
	if duplicate != nil || d.JSON {
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

// is reports whether the node has a value, with json.Number for numbers.
func (n *Node) is(value any) bool { return reflect.DeepEqual(n.Exact(), value) }

// Rewrite returns the text of the part with another value, and notes of what is lost by that. Fields that stay keep their
// comments. The text of the same value is the text of the part.
func (d *Document) Rewrite(to *Node) ([]byte, []Note, error) {
	switch {
	case d.Root.is(to.Exact()):
		return d.part.Text, nil, nil
	case d.JSON:
		text, err := d.rewriteJSON(to)
		return text, nil, err
	}
	text := bytes.TrimPrefix(d.part.Text, bom)
	mark, crlf := d.part.Text[:len(d.part.Text)-len(text)], bytes.Contains(text, []byte("\r\n"))
	head, body, tail := frame(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	from, err := decodeDocument(yaml.NewDecoder(bytes.NewReader(body)))
	if err != nil {
		return nil, nil, err
	}
	next, written, err := to.yamlLike(from)
	if err != nil {
		return nil, nil, err
	}
	notes := lost(from, string(body), next, string(written))
	for i := range notes {
		notes[i].Line += d.part.Line - 1 + bytes.Count(head, []byte("\n"))
	}
	if bytes.HasSuffix(head, []byte("---")) { // the value began on the line of the marker
		written = slices.Concat([]byte("\n"), written)
	}
	written = slices.Concat(head, written, tail)
	if crlf {
		written = bytes.ReplaceAll(written, []byte("\n"), []byte("\r\n"))
	}
	return slices.Concat(mark, written), notes, nil
}

// frame cuts a document into the lines up to its first marker, its value, and the lines from its last marker.
func frame(text []byte) (head, body, tail []byte) {
	at, begin, end := 0, 0, len(text)
	for line := range bytes.Lines(text) {
		switch {
		case marker(line, "---") && head == nil && significant(line[len("---"):]):
			begin = at + len("---")
			head = text[:begin]
		case marker(line, "---") && head == nil:
			begin = at + len(line)
			head = text[:begin]
		case marker(line, "..."):
			end = at
		}
		at += len(line)
	}
	return head, text[begin:max(begin, end)], text[max(begin, end):]
}

func (d *Document) rewriteJSON(to *Node) ([]byte, error) {
	text := d.part.Text
	body := d.part.body().Text
	old := bytes.TrimSpace(body)
	head := len(text) - len(bytes.TrimLeft(body, " \t\r\n"))
	var form []jsontext.Options
	if bytes.Contains(old, []byte("\n")) {
		form = append(form, jsontext.WithIndent("  "))
	}
	written, err := to.encodeJSON(form...)
	if err != nil {
		return nil, err
	}
	if again, err := ParseJSON(written); err != nil || !again.is(to.Exact()) {
		return nil, errUnwritable
	}
	return slices.Concat(text[:head], written, text[head+len(old):]), nil
}
