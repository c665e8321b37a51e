// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// writer makes nodes of the YAML library of Nodes, out of those of the text where a value stays.
type writer struct {
	removed map[string][]*Node  // by value
	placed  map[*yaml.Node]bool // removed values that the document has elsewhere
	notes   []Note
}

// place is the path of a node, below the one that has the successors.
type place struct {
	path       string
	successors map[string]string
}

// node returns what to encode for a node.
func (w *writer) node(n *Node, at place) *yaml.Node {
	if n.layout != nil {
		return n.layout
	}
	if moved := w.moved(n); moved != nil {
		return moved.layout
	}
	if n.Successors != nil {
		at = place{successors: n.Successors}
	}
	out := n.shape()
	switch n.Kind {
	case Mapping:
		w.mapping(out, n, at)
	case Sequence:
		for i, item := range n.Items {
			child := w.node(item, place{at.path + "[]", at.successors})
			out.Content = append(out.Content, child)
			if n.was != nil && item.isNew() {
				child.HeadComment = joinComments(w.comments(n.was.Items[i].layout), child.HeadComment)
			}
		}
	}
	return out
}

// isNew reports whether nothing of a node is in the text.
func (n *Node) isNew() bool { return n.layout == nil && n.was == nil }

// shape returns a node without content, like the one that it was. That is never an alias, which others share.
func (n *Node) shape() *yaml.Node {
	var old yaml.Node
	if n.was != nil {
		old = *n.was.layout
	}
	if n.Kind == Scalar {
		scalar := scalarNode(n.Value)
		const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle
		if _, text := n.Value.(string); text && old.Style&quoted != 0 && scalar.Style&^quoted == 0 {
			scalar.Style = old.Style & quoted
		}
		scalar.HeadComment, scalar.LineComment, scalar.FootComment = old.HeadComment, old.LineComment, old.FootComment
		return scalar
	}
	kinds := map[Kind]yaml.Kind{Mapping: yaml.MappingNode, Sequence: yaml.SequenceNode}
	old.Kind, old.Alias, old.Content = kinds[n.Kind], nil, nil
	return &old
}

// mapping adds the members of a node.
func (w *writer) mapping(out *yaml.Node, n *Node, at place) {
	var merges []*yaml.Node
	if n.was != nil {
		merges = mergeKeys(n.was.layout)
		values := n.byKey()
		for _, m := range n.was.Members {
			if now := values[m.Key]; !m.merged && (now == nil || now.isNew()) {
				w.remove(m.Value)
			}
		}
	}
	keys := make(map[string]*yaml.Node, len(n.Members))
	for i := range n.Members {
		m := &n.Members[i]
		if m.merged {
			out.Content, merges = append(out.Content, merges...), nil
			if m.Value.layout != nil {
				continue // the merge key still brings it
			}
		}
		key := m.layout
		if key == nil || m.merged {
			key = scalarNode(m.Key)
		}
		keys[m.Key] = key
		out.Content = append(out.Content, key, w.node(m.Value, place{Join(at.path, m.Key), at.successors}))
	}
	out.Content = append(merges, out.Content...)
	if n.was != nil {
		w.moveComments(out, keys, n, at)
	}
	if len(out.Content) > 0 { // a blank line was between the first two
		out.Content[0].HeadComment = strings.TrimPrefix(out.Content[0].HeadComment, "\n")
	}
}

func mergeKeys(n *yaml.Node) (pairs []*yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			pairs = append(pairs, n.Content[i], n.Content[i+1])
		}
	}
	return pairs
}

// remove remembers a value that is gone, and all values in it: the document may have one of them elsewhere, which
// then keeps its comments and style.
func (w *writer) remove(n *Node) {
	if n.Kind == Scalar {
		return
	}
	key := valueKey(n)
	w.removed[key] = append(w.removed[key], n)
	for i := range n.Members {
		w.remove(n.Members[i].Value)
	}
	for _, item := range n.Items {
		w.remove(item)
	}
}

// moved returns a removed value that equals a new one, once.
func (w *writer) moved(n *Node) *Node {
	if n.Kind == Scalar || !n.isNew() || len(w.removed) == 0 {
		return nil
	}
	key := valueKey(n)
	if same := w.removed[key]; len(same) > 0 {
		w.removed[key], w.placed[same[0].layout] = same[1:], true
		return same[0]
	}
	return nil
}

// valueKey is the same for equal values.
func valueKey(n *Node) string {
	raw, _ := json.Marshal(n.Exact()) // what was read from JSON, or can be written in it, has no error
	return string(raw)
}

// scalarNode quotes what kubectl would not read as the same text: yes and off are booleans there.
func scalarNode(value any) *yaml.Node {
	var n yaml.Node
	switch value := value.(type) {
	case string:
		if n.Encode(value) != nil || n.Style == 0 && resolve(value) != any(value) {
			n = yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Tag: "!!str", Value: value}
		}
		return &n
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: value.String()}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(value)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}
