// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// region is a value that loses its place, and may find another one with its lines as they are.
type region struct {
	from, to, indent int
	array            bool
	flow             *yaml.Node // a value within one line has no lines of its own
	taken            bool
}

// offer keeps a value, and all that stands in it, for those that look for the same.
func (e *editor) offer(n *yaml.Node, t *tree, from, to int) {
	if t.kind == 0 || len(n.Content) == 0 || anchored(n) {
		return
	}
	add := func(r *region) {
		name := canonical(t)
		e.moved[name] = append(e.moved[name], r)
	}
	if n.Style&yaml.FlowStyle != 0 {
		add(&region{flow: n})
		return
	}
	b, ok := e.layout(n, from, to)
	if !ok {
		return
	}
	add(&region{from: from, to: b.tail, indent: b.indent, array: t.kind == '['})
	for i, at := range b.entries {
		switch {
		case at.key != nil && t.members[at.key.Value] != nil:
			e.offer(at.value, t.members[at.key.Value], at.line+1, at.end)
		case at.key == nil && i < len(t.items) && at.value.Kind == yaml.MappingNode && at.value.Style == 0:
			e.offerItem(at, t.items[i])
		}
	}
}

// offerItem keeps what stands in an item. The item itself begins in the middle of a line.
func (e *editor) offerItem(at entry, t *tree) {
	_, restore := e.undash(at)
	defer restore()
	b, ok := e.layout(at.value, at.line, at.end)
	if !ok {
		return
	}
	for _, member := range b.entries {
		if was := t.members[member.key.Value]; was != nil {
			e.offer(member.value, was, member.line+1, member.end)
		}
	}
}

func anchored(n *yaml.Node) bool {
	return n.Anchor != "" || n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0 || slices.ContainsFunc(n.Content, anchored)
}

func canonical(t *tree) string {
	raw, err := json.Marshal(t.value())
	if err != nil {
		return ""
	}
	return string(raw)
}

// take returns a region of the same value.
func (e *editor) take(t *tree) *region {
	if t.kind == 0 || t.node != nil || len(e.moved) == 0 {
		return nil
	}
	for _, r := range e.moved[canonical(t)] {
		if !r.taken {
			r.taken = true
			return r
		}
	}
	return nil
}

// member returns the lines of a member that is written again.
func (e *editor) member(name string, t *tree, indent int) ([]string, bool) {
	return e.encode(&tree{kind: '{', names: []string{name}, members: map[string]*tree{name: t}}, indent)
}

// encode writes a tree as lines.
func (e *editor) encode(t *tree, indent int) ([]string, bool) {
	var regions []*region
	node := e.node(t, &regions)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(e.step)
	encoder.CompactSeqIndent()
	if e.dashes > 0 {
		encoder.DefaultSeqIndent()
	}
	if encoder.Encode(node) != nil || encoder.Close() != nil {
		return nil, false
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" {
			line = strings.Repeat(" ", indent) + line
		}
		if len(regions) > 0 && strings.HasSuffix(line, ": "+place(0, regions)) {
			lines = append(lines, strings.TrimSuffix(line, " "+place(0, regions))+e.eol)
			lines = append(lines, e.shifted(regions[0], line)...)
			regions = regions[1:]
			continue
		}
		lines = append(lines, line+e.eol)
	}
	return lines, len(regions) == 0
}

// place holds the place of a region until the lines around it are written.
func place(i int, regions []*region) string {
	return fmt.Sprintf("lines-%d-%d", regions[i].from, regions[i].to)
}

// shifted returns the lines of a region below a key.
func (e *editor) shifted(r *region, key string) (out []string) {
	indent := len(key) - len(strings.TrimLeft(key, " -")) + e.step
	if r.array {
		indent += e.dashes - e.step
	}
	for i := r.from; i < r.to; i++ {
		e.used[i] = true
		line := e.lines[i]
		if !blank(line) {
			line = strings.Repeat(" ", indent) + line[min(indentOf(line), r.indent):]
		}
		if !strings.HasSuffix(line, "\n") {
			line += e.eol
		}
		out = append(out, line)
	}
	return out
}

// node returns the layout of a tree, in the style that its parts have in the text.
func (e *editor) node(t *tree, regions *[]*region) *yaml.Node {
	switch t.kind {
	case '{':
		out := &yaml.Node{Kind: yaml.MappingNode, Style: flowOf(t)}
		for _, name := range t.names {
			out.Content = append(out.Content, scalarNode(name), e.child(t.members[name], out.Style == 0, regions))
		}
		return out
	case '[':
		out := &yaml.Node{Kind: yaml.SequenceNode, Style: flowOf(t)}
		for _, item := range t.items {
			out.Content = append(out.Content, e.child(item, false, regions))
		}
		return out
	}
	if t.node != nil && t.node.Kind == yaml.ScalarNode {
		return &yaml.Node{Kind: yaml.ScalarNode, Style: t.node.Style, Tag: t.node.Tag, Value: t.node.Value}
	}
	return scalarNode(t.scalar)
}

func (e *editor) child(t *tree, below bool, regions *[]*region) *yaml.Node {
	r := e.take(t)
	switch {
	case r == nil:
	case r.flow != nil:
		return bare(r.flow)
	case below:
		*regions = append(*regions, r)
		return &yaml.Node{Kind: yaml.ScalarNode, Value: place(len(*regions)-1, *regions)}
	default:
		r.taken = false
	}
	return e.node(t, regions)
}

func flowOf(t *tree) yaml.Style {
	if t.node == nil {
		return 0
	}
	return t.node.Style & yaml.FlowStyle
}

// bare copies a layout without its comments, which are kept apart.
func bare(n *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value}
	for _, child := range n.Content {
		out.Content = append(out.Content, bare(child))
	}
	return out
}

// scalarNode quotes what kubectl would not read as the same text: yes and off are booleans there.
func scalarNode(value any) *yaml.Node {
	var n yaml.Node
	switch value := value.(type) {
	case string:
		if word(value) {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
		}
		if n.Encode(value) != nil {
			return &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Tag: "!!str", Value: value}
		}
		if n.Style == 0 {
			raw, err := kyaml.YAMLToJSON([]byte(value))
			var again any
			if err != nil || json.Unmarshal(raw, &again) != nil || again != any(value) {
				n.Style = yaml.DoubleQuotedStyle
			}
		}
		return &n
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: value.String()}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(value)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

// word says that a text is itself in every reading of YAML, which most texts are: finding out about
// the others takes a parser.
func word(text string) bool {
	for i, c := range []byte(text) {
		switch letter := c|0x20 >= 'a' && c|0x20 <= 'z'; {
		case letter:
		case i == 0 || (c < '0' || c > '9') && c != '-' && c != '.' && c != '/' && c != '_':
			return false
		}
	}
	switch strings.ToLower(text) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return true
}
