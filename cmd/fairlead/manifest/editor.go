// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// editor changes the lines of one YAML document.
type editor struct {
	lines    []string // with their ends
	eol      string
	before   int          // lines of the text before the document
	step     int          // of indentation
	dashStep int          // indentation of a sequence below its key
	inScalar map[int]bool // lines within block scalars
	notes    []Note
	movable  map[string][]*movedValue // by value
	moved    map[int]bool             // lines that were written elsewhere
}

func newEditor(d *Document) *editor {
	e := &editor{eol: "\n", before: d.line - 1, step: 2, inScalar: map[int]bool{}}
	e.lines = strings.SplitAfter(string(bytes.TrimPrefix(d.text, bom)), "\n")
	if last := len(e.lines) - 1; e.lines[last] == "" {
		e.lines = e.lines[:last]
	}
	if len(e.lines) > 0 && strings.HasSuffix(e.lines[0], "\r\n") {
		e.eol = "\r\n"
	}
	e.measure(d.root.layout)
	e.markScalars(d.root.layout, -1)
	return e
}

func (e *editor) reset() {
	e.notes, e.movable, e.moved = nil, map[string][]*movedValue{}, map[int]bool{}
}

// number returns the number of a line in the whole text.
func (e *editor) number(line int) int { return e.before + line + 1 }

// measure determines how the document is indented, from the first places that show it.
func (e *editor) measure(root *yaml.Node) {
	var stepKnown, dashStepKnown bool
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i := 0; n.Kind == yaml.MappingNode && n.Style == 0 && i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			in := value.Column - key.Column
			switch {
			case value.Style != 0 || value.Line <= key.Line || len(value.Content) == 0:
			case value.Kind == yaml.MappingNode && !stepKnown && in > 0:
				e.step, stepKnown = min(max(in, 2), 8), true
			case value.Kind == yaml.SequenceNode && !dashStepKnown:
				e.dashStep, dashStepKnown = min(max(in, 0), 8), true
			}
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	walk(root)
}

// markScalars marks the lines of block scalars, in which nothing is a comment.
func (e *editor) markScalars(n *yaml.Node, indent int) {
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 && n.Kind == yaml.ScalarNode {
		for at := n.Line; at < len(e.lines) && (blank(e.lines[at]) || indentOf(e.lines[at]) > indent); at++ {
			e.inScalar[at] = true
		}
	}
	for i, child := range n.Content {
		in := indent
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 1:
			in = n.Content[i-1].Column - 1
		case n.Kind == yaml.SequenceNode:
			in = n.Column - 1
		}
		e.markScalars(child, in)
	}
}

// fields edits the fields of a document that differ.
func (e *editor) fields(old *Node, value any, order *Order) ([]string, bool) {
	members, ok := value.(map[string]any)
	if !ok || old.Kind != Mapping {
		return nil, false
	}
	from, to := e.body()
	lines, ok := e.mapping(old.layout, old, members, order, from, to)
	return slices.Concat(e.lines[:from], lines, e.lines[to:]), ok
}

// whole writes a document again, below all of its comments.
func (e *editor) whole(n *Node) ([]string, bool) {
	from, to := e.body()
	out := slices.Clone(e.lines[:from])
	var comments []string
	if from > 0 && significant([]byte(e.lines[from-1][len("---"):])) {
		out[from-1] = "---" + e.eol // the rest of the line is part of the value
		comments = e.comments(from-1, from, 0)
	}
	comments = append(comments, e.comments(from, to, 0)...)
	if len(comments) > 0 {
		e.notes = append(e.notes, Note{e.number(from), "the comments of the document were moved above it"})
	}
	lines, ok := e.encode(n, 0)
	return slices.Concat(out, comments, lines, e.lines[to:]), ok
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

// entry is a member of a block mapping, or an item of a block sequence, by its lines: comments and
// blank lines before it from lead, its own from line, up to end.
type entry struct {
	key, value      *yaml.Node // an item has no key
	lead, line, end int
}

// block is a mapping or sequence whose entries begin on lines of their own, one below the other.
type block struct {
	entries []entry
	indent  int // of the entries, in bytes
	tail    int // the first line after the last entry
}

// block finds the lines of a mapping or sequence. It returns false for any other style.
func (e *editor) block(n *yaml.Node, from, to int) (b block, ok bool) {
	if n.Style != 0 || n.Anchor != "" || len(n.Content) == 0 {
		return b, false
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			b.entries = append(b.entries, entry{key: n.Content[i], value: n.Content[i+1], line: n.Content[i].Line - 1})
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			b.entries = append(b.entries, entry{value: item, line: item.Line - 1})
		}
	default:
		return b, false
	}
	for i := range b.entries {
		if !e.startsLine(&b, i, from, to) {
			return b, false
		}
	}
	b.tail = e.lead(to, b.entries[len(b.entries)-1].line+1, b.indent)
	for i := range b.entries {
		at := &b.entries[i]
		at.lead, at.end = from, b.tail
		if i > 0 {
			at.lead = e.lead(at.line, b.entries[i-1].line+1, b.indent)
			b.entries[i-1].end = at.lead
		}
	}
	return b, true
}

// startsLine reports whether an entry begins its line, with the indentation of those before it.
func (e *editor) startsLine(b *block, i, from, to int) bool {
	at := b.entries[i]
	if at.line < from || at.line >= to || i > 0 && at.line <= b.entries[i-1].line {
		return false
	}
	text := e.lines[at.line]
	indent := indentOf(text)
	if indent < 0 || i > 0 && indent != b.indent {
		return false
	}
	b.indent = indent
	if at.key == nil {
		rest, dash := strings.CutPrefix(text[indent:], "-")
		gap := len(rest) - len(strings.TrimLeft(rest, " "))
		return dash && gap > 0 && offset(text, at.value.Column) == indent+1+gap
	}
	return at.key.Kind == yaml.ScalarNode && at.key.Anchor == "" && offset(text, at.key.Column) == indent
}

// lead returns the first of the lines before a line that belong to it: blank ones, and comments with at
// most its indentation.
func (e *editor) lead(line, first, indent int) int {
	for line > first && (blank(e.lines[line-1]) || commentOnly(e.lines[line-1]) && indentOf(e.lines[line-1]) <= indent) {
		line--
	}
	return line
}

// offset turns a column, counted in characters from 1, into bytes; -1 where the line is shorter.
func offset(line string, column int) int {
	at := 0
	for range column - 1 {
		if at >= len(line) {
			return -1
		}
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at
}

// indentOf returns how many spaces a line begins with; -1 for a blank one.
func indentOf(line string) int {
	text := strings.TrimLeft(line, " ")
	if strings.TrimSpace(text) == "" {
		return -1
	}
	return len(line) - len(text)
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }

func commentOnly(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") }
