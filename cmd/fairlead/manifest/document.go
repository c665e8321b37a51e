// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

const (
	// MaxDepth bounds how deep values stand in each other.
	MaxDepth = 100
	// maxValues bounds the values of a document, with those that aliases repeat.
	maxValues = 1 << 20
)

var errTooLarge = fmt.Errorf("more than %d levels or %d values", MaxDepth, maxValues)

// SyntaxError is a text that cannot be read, and where.
type SyntaxError struct{ Problem }

func (e *SyntaxError) Error() string { return e.Message }

// Document is one document, read.
type Document struct {
	places *Node // of its values; nil until one was asked for
	text   []byte
	line   int
	json   bool
	head   int // where the value of a JSON document begins and ends in text
	tail   int
	root   *yaml.Node
	tree   *tree
}

// Parse reads a part. A document of nothing but comments is nil. The error has the line.
func Parse(p Part) (*Document, error) {
	d := &Document{text: p.Text, line: p.Line}
	if d.parseJSON() {
		return d, nil
	}
	body := bytes.TrimPrefix(p.Text, bom)
	root, value, err := load(body)
	if err != nil {
		return nil, &SyntaxError{*syntaxError(Part{Text: body, Line: p.Line}, err)}
	}
	if root == nil || value == nil {
		return nil, nil
	}
	d.root = root
	budget := maxValues
	if d.tree = treeOf(root, value, p.Line-1, &budget); budget < 0 {
		return nil, &SyntaxError{*syntaxError(p, errTooLarge)}
	}
	return d, nil
}

func (d *Document) parseJSON() bool {
	body := Part{Text: d.text}.body().Text
	trimmed := bytes.TrimSpace(body)
	if len(trimmed) == 0 || trimmed[0] != '{' || !jsontext.Value(trimmed).IsValid() {
		return false
	}
	d.head = len(d.text) - len(body) + bytes.IndexByte(body, '{')
	d.tail = d.head + len(trimmed)
	tree, err := readJSON(d.text[d.head:d.tail], d.line+bytes.Count(d.text[:d.head], []byte("\n")))
	d.json, d.tree = err == nil, tree
	return d.json
}

// load returns the layout of a document, nil where there is none, and its value as kubectl reads it.
func load(body []byte) (root *yaml.Node, value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			root, value, err = nil, nil, fmt.Errorf("not YAML: %v", p)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(body))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case document.Kind != yaml.DocumentNode || len(document.Content) != 1:
		return nil, nil, nil
	}
	root = document.Content[0]
	count := 0
	if err := bounded(root, 0, &count); err != nil {
		return nil, nil, err
	}
	raw, err := kyaml.YAMLToJSON(body)
	if err != nil {
		return nil, nil, err
	}
	value, err = decode(raw)
	return root, value, err
}

// bounded refuses what is too deep or too much, and members that stand twice: one of them would be
// lost. To override what a merge key brings is no such thing.
func bounded(n *yaml.Node, depth int, count *int) error {
	if *count++; depth > MaxDepth || *count > maxValues {
		return errTooLarge
	}
	seen := map[string]bool{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode {
			if seen[child.Value] {
				return fmt.Errorf("line %d: key %.100q already set in map", child.Line, child.Value)
			}
			seen[child.Value] = true
		}
		if err := bounded(child, depth+1, count); err != nil {
			return err
		}
	}
	return nil
}

func decode(raw []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// Value returns what the document says: maps, slices, strings, json.Numbers, booleans and nil.
func (d *Document) Value() any { return d.tree.value() }

// JSON says that the document is written in JSON.
func (d *Document) JSON() bool { return d.json }

// Position returns where a value stands: names of members and indexes of items lead to it. Of a path
// that is not there it is the place of what is nearest.
func (d *Document) Position(path ...any) Position {
	if d.places == nil {
		d.places = &Node{Position: Position{d.line, 1}}
		if values := Read(Part{Text: d.text, Line: d.line}); len(values) > 0 && values[0].Root != nil {
			d.places = values[0].Root
		}
	}
	at := d.places
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

// treeOf joins the layout of a document with its value. What only the value has, such as members that
// a merge key brought, follows at the end.
func treeOf(n *yaml.Node, value any, before int, budget *int) *tree {
	if *budget--; *budget < 0 {
		return &tree{}
	}
	line := before + n.Line
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	switch value := value.(type) {
	case map[string]any:
		out := &tree{kind: '{', members: make(map[string]*tree, len(value)), node: n, line: line}
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			member, has := value[name]
			if _, twice := out.members[name]; !has || twice {
				continue
			}
			out.names = append(out.names, name)
			out.members[name] = treeOf(n.Content[i+1], member, before, budget)
		}
		for _, name := range (*Order)(nil).arrange(nil, missing(value, out.members)) {
			out.names = append(out.names, name)
			out.members[name] = build(value[name], nil)
		}
		return out
	case []any:
		if n.Kind != yaml.SequenceNode || len(n.Content) != len(value) {
			break
		}
		out := &tree{kind: '[', node: n, line: line}
		for i, item := range value {
			out.items = append(out.items, treeOf(n.Content[i], item, before, budget))
		}
		return out
	default:
		return &tree{scalar: value, node: n, line: line}
	}
	out := build(value, nil)
	out.line = line
	return out
}

func missing[A, B any](from map[string]A, in map[string]B) (names []string) {
	for name := range from {
		if _, has := in[name]; !has {
			names = append(names, name)
		}
	}
	return names
}
