// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// editor changes the lines of one YAML document.
type editor struct {
	lines   []string // with their ends
	eol     string
	before  int          // lines of the text before the document
	step    int          // of indentation
	dashes  int          // how far a sequence stands in from its key
	content map[int]bool // lines inside of block scalars
	notes   []Note
	moved   map[string][]*region
	used    map[int]bool // lines that stand elsewhere now
}

func newEditor(d *Document) *editor {
	e := &editor{eol: "\n", before: d.line - 1, step: 2, content: map[int]bool{}}
	e.lines = strings.SplitAfter(string(bytes.TrimPrefix(d.text, bom)), "\n")
	if last := len(e.lines) - 1; e.lines[last] == "" {
		e.lines = e.lines[:last]
	}
	if len(e.lines) > 0 && strings.HasSuffix(e.lines[0], "\r\n") {
		e.eol = "\r\n"
	}
	e.measure(d.root)
	e.scalars(d.root, -1)
	return e
}

func (e *editor) reset() {
	e.notes, e.moved, e.used = nil, map[string][]*region{}, map[int]bool{}
}

// number is a line's in the whole text.
func (e *editor) number(line int) int { return e.before + line + 1 }

// measure finds out how the document is indented, from the first places that show it.
func (e *editor) measure(root *yaml.Node) {
	var stepped, dashed bool
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i := 0; n.Kind == yaml.MappingNode && n.Style == 0 && i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			in := value.Column - key.Column
			switch {
			case value.Style != 0 || value.Line <= key.Line || len(value.Content) == 0:
			case value.Kind == yaml.MappingNode && !stepped && in > 0:
				e.step, stepped = min(max(in, 2), 8), true
			case value.Kind == yaml.SequenceNode && !dashed:
				e.dashes, dashed = min(max(in, 0), 8), true
			}
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	walk(root)
}

// scalars marks the lines of block scalars, in which nothing is a comment.
func (e *editor) scalars(n *yaml.Node, indent int) {
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 && n.Kind == yaml.ScalarNode {
		for at := n.Line; at < len(e.lines) && (blank(e.lines[at]) || indentOf(e.lines[at]) > indent); at++ {
			e.content[at] = true
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
		e.scalars(child, in)
	}
}

// mapping returns the lines of a block mapping with other members.
func (e *editor) mapping(n *yaml.Node, old *tree, value map[string]any, order *Order, from, to int) ([]string, bool) {
	b, ok := e.layout(n, from, to)
	if !ok || n.Kind != yaml.MappingNode || len(value) == 0 {
		return nil, false
	}
	var kept []string
	stands := make(map[string]bool, len(b.entries))
	for _, at := range b.entries {
		name := at.key.Value
		was, known := old.members[name]
		if !known && name != merging || stands[name] {
			return nil, false
		}
		stands[name] = true
		member, stays := value[name]
		if stays || name == merging {
			kept = append(kept, name)
		}
		if _, object := member.(map[string]any); known && (!object || was.kind != '{') && !was.is(member) {
			e.offer(at.value, was, at.line+1, at.end)
		}
	}
	var added []string
	for name, member := range value {
		// What a merge key brings needs no line of its own as long as it stays the same.
		if was, had := old.members[name]; !stands[name] && (!had || !was.is(member)) {
			added = append(added, name)
		}
	}
	written := make(map[string][]string, len(value))
	for _, name := range added {
		if written[name], ok = e.member(name, build(value[name], order.member(name)), b.indent); !ok {
			return nil, false
		}
	}
	for _, at := range b.entries {
		name := at.key.Value
		if member, stays := value[name]; stays {
			if written[name], ok = e.entry(at, b.indent, old.members[name], member, order.member(name)); !ok {
				return nil, false
			}
		} else if name == merging {
			written[name] = e.lines[at.lead:at.end]
		}
	}
	left := e.rehouse(b, written, order)
	var out []string
	for _, name := range order.arrange(kept, added) {
		out = append(out, written[name]...)
	}
	for len(out) > 0 && blank(out[0]) && !blank(e.lines[from]) {
		out = out[1:] // it stood between the first two
	}
	return slices.Concat(out, left, e.lines[b.tail:to]), true
}

// merging is the key of YAML 1.1 that brings the members of another mapping.
const merging = "<<"

// rehouse puts the comments of entries that are gone before what has taken their place, or else
// before the next entry that is still there. It returns those that found none.
func (e *editor) rehouse(b block, written map[string][]string, order *Order) (left []string) {
	carried := map[string][]string{}
	var homeless []string // the fields that left their comments to a stranger
	var line int
	settle := func(at string) {
		if len(homeless) > 0 {
			e.notes = append(e.notes, Note{line, fmt.Sprintf("comments of what is gone now stand at %s: those of %s", at, strings.Join(homeless, ", "))})
		}
		homeless = nil
	}
	for _, at := range b.entries {
		name := at.key.Value
		if _, stays := written[name]; stays {
			settle(order.full(name))
			carried[name], left = append(carried[name], left...), nil
			continue
		}
		comments := e.comments(at, b.indent)
		heir := order.successor(name)
		switch {
		case len(comments) == 0:
		case written[heir] != nil:
			carried[heir] = append(carried[heir], comments...)
		default:
			if len(homeless) == 0 {
				line = e.number(at.line)
			}
			homeless = append(homeless, order.full(name))
			left = append(left, comments...)
		}
	}
	settle("the end of " + order.full(""))
	for name, lines := range carried {
		written[name] = slices.Concat(lines, written[name])
	}
	if len(left) > 0 && !blank(left[0]) {
		left = slices.Insert(left, 0, e.eol) // they are about nothing above them
	}
	return left
}

// full is the path of a field.
func (o *Order) full(name string) string {
	path := name
	if o != nil && o.path != "" {
		path = strings.Trim(o.path+"."+name, ".")
	}
	if path = strings.ReplaceAll(path, ".[]", "[]"); path == "" {
		return "the object"
	}
	return path
}

// comments returns the comments of an entry that is gone, those before it as they are.
func (e *editor) comments(at entry, indent int) (out []string) {
	lead := e.lines[at.lead:at.line]
	if slices.ContainsFunc(lead, commentOnly) {
		out = slices.Clone(lead)
	}
	return append(out, e.inner(at.line, at.end, indent)...)
}

// inner returns the comments among some lines, each on a line of its own.
func (e *editor) inner(from, to, indent int) (out []string) {
	var quotes quoting
	for i := from; i < to; i++ {
		if e.content[i] || e.used[i] {
			continue
		}
		line := strings.TrimRight(e.lines[i], "\r\n")
		if at := quotes.comment(line); at >= 0 {
			out = append(out, strings.Repeat(" ", indent)+strings.TrimRight(line[at:], " \t")+e.eol)
		}
	}
	return out
}
