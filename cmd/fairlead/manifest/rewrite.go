// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Note says where the comments of a field went that is gone.
type Note struct {
	Line int
	Text string
}

var errUnwritable = errors.New("the new object cannot be written in the form of this text; take out its anchors and tags, and try again")

// Rewrite returns the text of the part with another value. Fields that are the same keep their lines;
// new ones stand in their order. Comments of fields that are gone go to what has taken their place, or
// else stay, and a note says where. Where nothing changes, the text comes back as it is.
func (d *Document) Rewrite(value any, order *Order) ([]byte, []Note, error) {
	if d.tree.is(value) {
		return d.text, nil, nil
	}
	if d.json {
		written, err := writeJSON(d.tree.merge(value, order), d.text[d.head:d.tail])
		if err != nil {
			return nil, nil, err
		}
		if again, err := readJSON(written, 1); err != nil || !again.is(value) {
			return nil, nil, errUnwritable
		}
		return slices.Concat(d.text[:d.head], written, d.text[d.tail:]), nil, nil
	}
	e := newEditor(d)
	for _, way := range []func(*tree) ([]string, bool){
		func(t *tree) ([]string, bool) { return e.document(d.root, t, value, order) },
		func(t *tree) ([]string, bool) { return e.whole(t.merge(value, order)) },
	} {
		e.reset()
		lines, ok := way(d.tree)
		if !ok {
			continue
		}
		text := e.join(lines)
		if _, again, err := load(text); err == nil && reflect.DeepEqual(again, value) {
			notes := append(e.notes, d.unshared(text)...)
			if bytes.HasPrefix(d.text, bom) {
				text = slices.Concat(bom, text)
			}
			return text, notes, nil
		}
	}
	return nil, nil, errUnwritable
}

// is says that a tree has a value.
func (t *tree) is(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		if t.kind != '{' || len(t.members) != len(value) {
			return false
		}
		for name, member := range value {
			if mine, has := t.members[name]; !has || !mine.is(member) {
				return false
			}
		}
		return true
	case []any:
		if t.kind != '[' || len(t.items) != len(value) {
			return false
		}
		for i, item := range value {
			if !t.items[i].is(item) {
				return false
			}
		}
		return true
	}
	return t.kind == 0 && t.scalar == value
}

// document edits the lines of a whole document.
func (e *editor) document(root *yaml.Node, old *tree, value any, order *Order) ([]string, bool) {
	members, ok := value.(map[string]any)
	if !ok || old.kind != '{' {
		return nil, false
	}
	from, to := e.body()
	lines, ok := e.mapping(root, old, members, order, from, to)
	return slices.Concat(e.lines[:from], lines, e.lines[to:]), ok
}

// body returns the lines between the markers of a document.
func (e *editor) body() (from, to int) {
	to = len(e.lines)
	for i, line := range e.lines {
		if from == 0 && marker([]byte(line), "---") {
			from = i + 1
		}
		if marker([]byte(line), "...") {
			to = i
		}
	}
	return from, max(from, to)
}

// whole writes a whole document from its tree, below all of its comments.
func (e *editor) whole(t *tree) ([]string, bool) {
	from, to := e.body()
	out := slices.Clone(e.lines[:from])
	var comments []string
	if from > 0 && significant([]byte(e.lines[from-1][len("---"):])) {
		out[from-1] = "---" + e.eol // the rest of the line is part of the value
		comments = e.inner(from-1, from, 0)
	}
	comments = append(comments, e.inner(from, to, 0)...)
	if len(comments) > 0 {
		e.notes = append(e.notes, Note{e.number(from), "the comments of the document now stand above it"})
	}
	lines, ok := e.encode(t, 0)
	return slices.Concat(out, comments, lines, e.lines[to:]), ok
}

// join makes a text of lines. The last one ends as the last one of the old text did.
func (e *editor) join(lines []string) []byte {
	var out bytes.Buffer
	for i, line := range lines {
		if i+1 < len(lines) && !strings.HasSuffix(line, "\n") {
			line += e.eol
		}
		out.WriteString(line)
	}
	if n := len(e.lines); n > 0 && !strings.HasSuffix(e.lines[n-1], "\n") {
		return bytes.TrimSuffix(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\r"))
	}
	return out.Bytes()
}
