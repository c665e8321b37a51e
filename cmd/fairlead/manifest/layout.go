// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

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
	tail    int // the first line of what follows the last entry
}

// layout takes the lines of a block apart. It returns false for anything that is written otherwise.
func (e *editor) layout(n *yaml.Node, from, to int) (b block, ok bool) {
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
		if !e.place(&b, i, from, to) {
			return b, false
		}
	}
	b.tail = e.above(to, b.entries[len(b.entries)-1].line+1, b.indent)
	for i := range b.entries {
		at := &b.entries[i]
		at.lead, at.end = from, b.tail
		if i > 0 {
			at.lead = e.above(at.line, b.entries[i-1].line+1, b.indent)
			b.entries[i-1].end = at.lead
		}
	}
	return b, true
}

// place checks where an entry begins.
func (e *editor) place(b *block, i, from, to int) bool {
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

// above returns the first of the lines before a line that belong to what begins there: blank ones,
// and comments that do not stand deeper.
func (e *editor) above(line, first, indent int) int {
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
