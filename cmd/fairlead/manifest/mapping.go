// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// mergeKey is the key of YAML 1.1 that brings the members of another mapping.
const mergeKey = "<<"

// mapping returns the lines of a block mapping with other members.
func (e *editor) mapping(n *yaml.Node, old *Node, value map[string]any, order *Order, from, to int) ([]string, bool) {
	b, ok := e.block(n, from, to)
	if !ok || n.Kind != yaml.MappingNode || len(value) == 0 {
		return nil, false
	}
	members := old.byKey()
	var kept []string
	present := make(map[string]bool, len(b.entries))
	for _, at := range b.entries {
		name := at.key.Value
		was, known := members[name]
		if !known && name != mergeKey || present[name] {
			return nil, false
		}
		present[name] = true
		member, stays := value[name]
		if stays || name == mergeKey {
			kept = append(kept, name)
		}
		if _, object := member.(map[string]any); known && (!object || was.Kind != Mapping) && !was.is(member) {
			e.addMovable(at.value, was, at.line+1, at.end)
		}
	}
	var added []string
	for name, member := range value {
		// What a merge key brings needs no line of its own as long as it stays the same.
		if was, had := members[name]; !present[name] && (!had || !was.is(member)) {
			added = append(added, name)
		}
	}
	written := make(map[string][]string, len(value))
	for _, name := range added {
		if written[name], ok = e.member(name, newNode(value[name], order.member(name)), b.indent); !ok {
			return nil, false
		}
	}
	for _, at := range b.entries {
		name := at.key.Value
		if member, stays := value[name]; stays {
			if written[name], ok = e.entry(at, b.indent, members[name], member, order.member(name)); !ok {
				return nil, false
			}
		} else if name == mergeKey {
			written[name] = e.lines[at.lead:at.end]
		}
	}
	comments := e.moveComments(b, written, order)
	var out []string
	for _, name := range order.arrange(kept, added) {
		out = append(out, written[name]...)
	}
	for len(out) > 0 && blank(out[0]) && !blank(e.lines[from]) {
		out = out[1:] // it was between the first two
	}
	return slices.Concat(out, comments, e.lines[b.tail:to]), true
}

// entry returns the lines of a member whose value may have changed.
func (e *editor) entry(at entry, indent int, old *Node, value any, order *Order) ([]string, bool) {
	if old.is(value) {
		return e.lines[at.lead:at.end], true
	}
	lead, own := e.lines[at.lead:at.line], e.lines[at.line:at.line+1]
	if body, ok := e.below(at, old, value, order); ok {
		return slices.Concat(lead, own, body), true
	}
	if line, ok := e.inline(at, old, value); ok {
		return slices.Concat(lead, []string{line}, e.lines[at.line+1:at.end]), true
	}
	lines, ok := e.member(at.key.Value, old.merge(value, order), indent)
	if !ok {
		return nil, false
	}
	var quotes quoteState
	key := strings.TrimRight(own[0], "\r\n")
	if c := quotes.comment(key); c >= 0 {
		lines[0] = strings.TrimRight(lines[0], "\r\n") + " " + key[c:] + e.eol
	}
	return slices.Concat(lead, e.comments(at.line+1, at.end, indent), lines), true
}

// below edits a block below the key.
func (e *editor) below(at entry, old *Node, value any, order *Order) ([]string, bool) {
	if at.value.Line <= at.key.Line {
		return nil, false
	}
	switch value := value.(type) {
	case map[string]any:
		if old.Kind == Mapping && at.value.Kind == yaml.MappingNode {
			return e.mapping(at.value, old, value, order, at.line+1, at.end)
		}
	case []any:
		if old.Kind == Sequence && at.value.Kind == yaml.SequenceNode && len(value) == len(old.Items) {
			return e.sequence(at.value, old, value, order, at.line+1, at.end)
		}
	}
	return nil, false
}

// inline replaces a scalar on the line of its key by another.
func (e *editor) inline(at entry, old *Node, value any) (string, bool) {
	n := at.value
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle
	if old.Kind != Scalar || n.Kind != yaml.ScalarNode || n.Style&^quoted != 0 || n.Anchor != "" || n.Line != at.key.Line || n.Value == "" {
		return "", false
	}
	switch value.(type) {
	case map[string]any, []any:
		return "", false
	}
	for _, line := range e.lines[at.line+1 : at.end] {
		if !blank(line) && !commentOnly(line) {
			return "", false
		}
	}
	scalar := scalarNode(value)
	if _, text := value.(string); text && n.Style != 0 && scalar.Style&^quoted == 0 {
		scalar.Style = n.Style
	}
	text, err := yaml.Marshal(scalar)
	if err != nil || strings.Count(string(text), "\n") != 1 {
		return "", false
	}
	line := e.lines[at.line]
	start := offset(line, n.Column)
	if start < 0 {
		return "", false
	}
	end := len(strings.TrimRight(line, "\r\n"))
	var quotes quoteState
	if c := quotes.comment(line[:end]); c >= 0 {
		end = len(strings.TrimRight(line[:c], " \t"))
	}
	if quotes.open != 0 || end < start {
		return "", false
	}
	return line[:start] + strings.TrimSuffix(string(text), "\n") + line[end:], true
}

// sequence edits the items of a block sequence in place.
func (e *editor) sequence(n *yaml.Node, old *Node, values []any, order *Order, from, to int) ([]string, bool) {
	b, ok := e.block(n, from, to)
	if !ok || len(b.entries) != len(values) {
		return nil, false
	}
	var out []string
	for i, at := range b.entries {
		if old.Items[i].is(values[i]) {
			out = append(out, e.lines[at.lead:at.end]...)
			continue
		}
		lines, ok := e.item(at, b.indent, old.Items[i], values[i], order.element(i))
		if !ok {
			return nil, false
		}
		out = slices.Concat(out, e.lines[at.lead:at.line], lines)
	}
	return append(out, e.lines[b.tail:to]...), true
}

func (e *editor) item(at entry, indent int, old *Node, value any, order *Order) ([]string, bool) {
	if members, ok := value.(map[string]any); ok && old.Kind == Mapping {
		dash, restore := e.blankDash(at)
		lines, ok := e.mapping(at.value, old, members, order, at.line, at.end)
		restore()
		if ok && len(lines) > 0 && strings.HasPrefix(lines[0], strings.Repeat(" ", len(dash))) {
			lines[0] = dash + lines[0][len(dash):]
			return lines, true
		}
	}
	lines, ok := e.encode(&Node{Kind: Sequence, Items: []*Node{old.merge(value, order)}}, indent)
	return append(e.comments(at.line, at.end, indent), lines...), ok
}

// blankDash replaces the dash of an item by spaces until restore, so that its first line is like any other
// line of its mapping.
func (e *editor) blankDash(at entry) (dash string, restore func()) {
	line := e.lines[at.line]
	width := max(offset(line, at.value.Column), 0)
	e.lines[at.line] = strings.Repeat(" ", width) + line[width:]
	return line[:width], func() { e.lines[at.line] = line }
}
