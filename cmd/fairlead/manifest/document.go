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

var (
	errMisread    = errors.New("kubectl reads this document differently; quote its unusual values, and write out its merge keys")
	errUnwritable = errors.New("the new object cannot be written in the form of this text; take out its anchors and tags, and try again")
)

// SyntaxError is a text that cannot be read, with the position of the error.
type SyntaxError struct{ Problem }

func (e *SyntaxError) Error() string { return e.Message }

// Document is a document that can be given another value.
type Document struct {
	text       []byte
	line       int
	json       bool
	head, tail int // of the value of a JSON document in text
	root       *Node
}

// Note records where the comments of a removed field went.
type Note struct {
	Line int
	Text string
}

// Parse reads a part. A document of nothing but comments is nil. The error is a SyntaxError.
func Parse(p Part) (*Document, error) {
	d := &Document{text: p.Text, line: p.Line}
	body := p.body()
	trimmed := bytes.TrimSpace(body.Text)
	var values []Reading
	if d.json = len(trimmed) > 0 && trimmed[0] == '{' && jsontext.Value(trimmed).IsValid(); d.json {
		d.head = len(p.Text) - len(body.Text) + bytes.IndexByte(body.Text, '{')
		d.tail = d.head + len(trimmed)
		values = readJSON(body)
	} else {
		body = Part{Text: bytes.TrimPrefix(p.Text, bom), Line: p.Line}
		values = readYAML(body)
	}
	if len(values) == 0 {
		return nil, nil
	}
	if values[0].Err != nil {
		return nil, &SyntaxError{*values[0].Err}
	}
	d.root = values[0].Root
	if d.json {
		return d, nil
	}
	var duplicate error
	d.root.AllProblems(func(_ string, p Problem) {
		if duplicate == nil && p.Rule == "duplicate-key" { // one of them would be lost
			p.Message = fmt.Sprintf("not YAML: key %.100q already set in map", p.Key)
			duplicate = &SyntaxError{p}
		}
	})
	if duplicate != nil {
		return nil, duplicate
	}
	value, err := kubectlValue(body.Text)
	switch {
	case err == nil && value == nil:
		return nil, nil
	case err == nil && !d.root.is(value):
		return nil, &SyntaxError{Problem{Position: d.root.Position, Rule: "syntax", Message: errMisread.Error()}}
	case err != nil:
		return nil, &SyntaxError{*syntaxError(body, err)}
	}
	return d, nil
}

// kubectlValue returns the value of a YAML document as kubectl reads it.
func kubectlValue(text []byte) (value any, err error) {
	defer recovered(&err)
	raw, err := kyaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	return Decode(raw)
}

// Decode returns a JSON value in the form of Value.
func Decode(raw []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// Value returns the value of the document, with json.Number for numbers. The caller may change it.
func (d *Document) Value() any { return d.root.data(exactNumber) }

// JSON reports whether the document is written in JSON.
func (d *Document) JSON() bool { return d.json }

// Position returns the position of the value that names of members and indexes of items lead to, or of the
// nearest one above it.
func (d *Document) Position(path ...any) Position {
	at := d.root
	for _, step := range path {
		var next *Node
		switch step := step.(type) {
		case string:
			next = at.Get(step)
		case int:
			if step >= 0 && step < len(at.Items) {
				next = at.Items[step]
			}
		}
		if next == nil {
			break
		}
		at = next
	}
	return at.Position
}

// Rewrite returns the text of the part with another value. Fields that are the same keep their lines, and
// new ones are added in their order. Comments of removed fields go to the fields that replace them, or else
// stay, and a note records where. The text of the same value is the text of the part.
func (d *Document) Rewrite(value any, order *Order) ([]byte, []Note, error) {
	if d.root.is(value) {
		return d.text, nil, nil
	}
	if d.json {
		written, err := formatJSON(d.root.merge(value, order), d.text[d.head:d.tail])
		if err != nil {
			return nil, nil, err
		}
		if again := readJSON(Part{Text: written, Line: 1}); len(again) != 1 || again[0].Err != nil || !again[0].Root.is(value) {
			return nil, nil, errUnwritable
		}
		return slices.Concat(d.text[:d.head], written, d.text[d.tail:]), nil, nil
	}
	e := newEditor(d)
	for _, edit := range []func() ([]string, bool){
		func() ([]string, bool) { return e.fields(d.root, value, order) },
		func() ([]string, bool) { return e.whole(d.root.merge(value, order)) },
	} {
		e.reset()
		lines, ok := edit()
		if !ok {
			continue
		}
		text := e.join(lines)
		if again, err := kubectlValue(text); err == nil && reflect.DeepEqual(again, value) {
			notes := append(e.notes, d.lostAnchors(text)...)
			if bytes.HasPrefix(d.text, bom) {
				text = slices.Concat(bom, text)
			}
			return text, notes, nil
		}
	}
	return nil, nil, errUnwritable
}

// AsJSON returns the document as indented JSON, in its order.
func (d *Document) AsJSON() ([]byte, error) {
	var out bytes.Buffer
	d.root.writeJSON(&out)
	value := jsontext.Value(out.Bytes())
	if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
		return nil, err
	}
	return append(slices.Clone(value), '\n'), nil
}

// AsYAML returns the document as YAML: unchanged, or in block style where it was JSON.
func (d *Document) AsYAML() ([]byte, error) {
	if !d.json {
		return d.text, nil
	}
	e := &editor{eol: "\n", step: 2}
	lines, ok := e.encode(d.root, 0)
	if !ok {
		return nil, errUnwritable
	}
	text := e.join(lines)
	if again, err := kubectlValue(text); err != nil || !d.root.is(again) {
		return nil, errUnwritable
	}
	return text, nil
}

// anchors counts the anchors of a document and their aliases, by name.
type anchors struct {
	names   []string // in their order
	lines   map[string]int
	aliases map[string]int
}

func anchorsOf(n *yaml.Node) anchors {
	a := anchors{lines: map[string]int{}, aliases: map[string]int{}}
	a.add(n)
	return a
}

func (a *anchors) add(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		a.aliases[n.Value]++
		return
	}
	if n.Anchor != "" {
		if _, has := a.lines[n.Anchor]; !has {
			a.names = append(a.names, n.Anchor)
		}
		a.lines[n.Anchor] = n.Line
	}
	for _, child := range n.Content {
		a.add(child)
	}
}

// lostAnchors notes the anchors and aliases that a new text no longer has. Its values are the same without
// them, and have to be changed in several places from then on.
func (d *Document) lostAnchors(text []byte) (notes []Note) {
	before := anchorsOf(d.root.layout)
	if len(before.names) == 0 {
		return nil
	}
	root, err := decodeNode(yaml.NewDecoder(bytes.NewReader(text)))
	if err != nil || root == nil {
		return nil // kubectl has just read it
	}
	after := anchorsOf(root)
	for _, name := range before.names {
		at := d.line - 1 + before.lines[name]
		switch _, kept := after.lines[name]; {
		case !kept:
			notes = append(notes, Note{at, fmt.Sprintf("the anchor &%s is gone: its value is written out in each place", name)})
		case after.aliases[name] < before.aliases[name]:
			notes = append(notes, Note{at, fmt.Sprintf("of the aliases of &%s not all are kept: its value is written out in their place", name)})
		}
	}
	return notes
}
