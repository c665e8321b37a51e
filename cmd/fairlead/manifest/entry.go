// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// entry returns the lines of a member whose value may have changed.
func (e *editor) entry(at entry, indent int, old *tree, value any, order *Order) ([]string, bool) {
	if old.is(value) {
		return e.lines[at.lead:at.end], true
	}
	lead, own := e.lines[at.lead:at.line], e.lines[at.line:at.line+1]
	if body, ok := e.inside(at, old, value, order); ok {
		return slices.Concat(lead, own, body), true
	}
	if line, ok := e.inline(at, old, value); ok {
		return slices.Concat(lead, []string{line}, e.lines[at.line+1:at.end]), true
	}
	lines, ok := e.member(at.key.Value, old.merge(value, order), indent)
	if !ok {
		return nil, false
	}
	var quotes quoting
	key := strings.TrimRight(own[0], "\r\n")
	if c := quotes.comment(key); c >= 0 {
		lines[0] = strings.TrimRight(lines[0], "\r\n") + " " + key[c:] + e.eol
	}
	return slices.Concat(lead, e.inner(at.line+1, at.end, indent), lines), true
}

// inside edits a block below the key.
func (e *editor) inside(at entry, old *tree, value any, order *Order) ([]string, bool) {
	if at.value.Line <= at.key.Line {
		return nil, false
	}
	switch value := value.(type) {
	case map[string]any:
		if old.kind == '{' && at.value.Kind == yaml.MappingNode {
			return e.mapping(at.value, old, value, order, at.line+1, at.end)
		}
	case []any:
		if old.kind == '[' && at.value.Kind == yaml.SequenceNode && len(value) == len(old.items) {
			return e.sequence(at.value, old, value, order, at.line+1, at.end)
		}
	}
	return nil, false
}

// sequence edits the items of a block sequence, each at its place.
func (e *editor) sequence(n *yaml.Node, old *tree, values []any, order *Order, from, to int) ([]string, bool) {
	b, ok := e.layout(n, from, to)
	if !ok || len(b.entries) != len(values) {
		return nil, false
	}
	var out []string
	for i, at := range b.entries {
		if old.items[i].is(values[i]) {
			out = append(out, e.lines[at.lead:at.end]...)
			continue
		}
		lines, ok := e.item(at, b.indent, old.items[i], values[i], order.element(i))
		if !ok {
			return nil, false
		}
		out = slices.Concat(out, e.lines[at.lead:at.line], lines)
	}
	return append(out, e.lines[b.tail:to]...), true
}

func (e *editor) item(at entry, indent int, old *tree, value any, order *Order) ([]string, bool) {
	if members, ok := value.(map[string]any); ok && old.kind == '{' {
		dash, restore := e.undash(at)
		lines, ok := e.mapping(at.value, old, members, order, at.line, at.end)
		restore()
		if ok && len(lines) > 0 && strings.HasPrefix(lines[0], strings.Repeat(" ", len(dash))) {
			lines[0] = dash + lines[0][len(dash):]
			return lines, true
		}
	}
	lines, ok := e.encode(&tree{kind: '[', items: []*tree{old.merge(value, order)}}, indent)
	return append(e.inner(at.line, at.end, indent), lines...), ok
}

// undash makes the first line of an item look like any other line of its mapping, until restore.
func (e *editor) undash(at entry) (dash string, restore func()) {
	line := e.lines[at.line]
	width := max(offset(line, at.value.Column), 0)
	e.lines[at.line] = strings.Repeat(" ", width) + line[width:]
	return line[:width], func() { e.lines[at.line] = line }
}

// inline puts one scalar in the place of another on the line of its key.
func (e *editor) inline(at entry, old *tree, value any) (string, bool) {
	n := at.value
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle
	if old.kind != 0 || n.Kind != yaml.ScalarNode || n.Style&^quoted != 0 || n.Anchor != "" || n.Line != at.key.Line || n.Value == "" {
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
	fresh := scalarNode(value)
	if _, text := value.(string); text && n.Style != 0 && fresh.Style&^quoted == 0 {
		fresh.Style = n.Style
	}
	text, err := yaml.Marshal(fresh)
	if err != nil || strings.Count(string(text), "\n") != 1 {
		return "", false
	}
	line := e.lines[at.line]
	start := offset(line, n.Column)
	if start < 0 {
		return "", false
	}
	end := len(strings.TrimRight(line, "\r\n"))
	var quotes quoting
	if c := quotes.comment(line[:end]); c >= 0 {
		end = len(strings.TrimRight(line[:c], " \t"))
	}
	if quotes.open != 0 || end < start {
		return "", false
	}
	return line[:start] + strings.TrimSuffix(string(text), "\n") + line[end:], true
}
