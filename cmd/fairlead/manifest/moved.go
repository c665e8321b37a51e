// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// movedValue is a removed value whose lines are used where the new object has the same value.
type movedValue struct {
	from, to, indent int
	sequence         bool
	flow             *yaml.Node // a value within one line has no lines of its own
	used             bool
}

// addMovable adds a removed value, and all values in it, to those whose lines may be used elsewhere.
func (e *editor) addMovable(n *yaml.Node, old *Node, from, to int) {
	if old.Kind == Scalar || len(n.Content) == 0 || anchored(n) {
		return
	}
	add := func(v *movedValue) {
		key := valueKey(old)
		e.movable[key] = append(e.movable[key], v)
	}
	if n.Style&yaml.FlowStyle != 0 {
		add(&movedValue{flow: n})
		return
	}
	b, ok := e.block(n, from, to)
	if !ok {
		return
	}
	add(&movedValue{from: from, to: b.tail, indent: b.indent, sequence: old.Kind == Sequence})
	members := old.byKey()
	for i, at := range b.entries {
		switch {
		case at.key != nil && members[at.key.Value] != nil:
			e.addMovable(at.value, members[at.key.Value], at.line+1, at.end)
		case at.key == nil && i < len(old.Items) && at.value.Kind == yaml.MappingNode && at.value.Style == 0:
			e.addMovableItem(at, old.Items[i])
		}
	}
}

// addMovableItem adds the values in an item. The item itself begins in the middle of a line.
func (e *editor) addMovableItem(at entry, old *Node) {
	_, restore := e.blankDash(at)
	defer restore()
	b, ok := e.block(at.value, at.line, at.end)
	if !ok {
		return
	}
	members := old.byKey()
	for _, member := range b.entries {
		if was := members[member.key.Value]; was != nil {
			e.addMovable(member.value, was, member.line+1, member.end)
		}
	}
}

// anchored reports whether a value has anchors, aliases or tags, which are not moved.
func anchored(n *yaml.Node) bool {
	return n.Anchor != "" || n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0 || slices.ContainsFunc(n.Content, anchored)
}

// valueKey is the same for equal values.
func valueKey(n *Node) string {
	raw, err := json.Marshal(n.data(exactNumber))
	if err != nil {
		return ""
	}
	return string(raw)
}

// findMoved returns a removed value that equals a new one, and marks it as used.
func (e *editor) findMoved(n *Node) *movedValue {
	if n.Kind == Scalar || n.layout != nil || len(e.movable) == 0 {
		return nil
	}
	for _, v := range e.movable[valueKey(n)] {
		if !v.used {
			v.used = true
			return v
		}
	}
	return nil
}

// placeholder is encoded for a moved value, and replaced by its lines afterwards.
func (v *movedValue) placeholder() string { return fmt.Sprintf("lines-%d-%d", v.from, v.to) }

// movedLines returns the lines of a moved value, indented to be below a key.
func (e *editor) movedLines(v *movedValue, key string) (out []string) {
	indent := len(key) - len(strings.TrimLeft(key, " -")) + e.step
	if v.sequence {
		indent += e.dashStep - e.step
	}
	for i := v.from; i < v.to; i++ {
		e.moved[i] = true
		line := e.lines[i]
		if !blank(line) {
			line = strings.Repeat(" ", indent) + line[min(indentOf(line), v.indent):]
		}
		if !strings.HasSuffix(line, "\n") {
			line += e.eol
		}
		out = append(out, line)
	}
	return out
}
