// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// newNode orders a value that is in no text yet.
func newNode(value any, order *Order) *Node {
	switch value := value.(type) {
	case map[string]any:
		out := &Node{Kind: Mapping}
		for _, name := range order.arrange(nil, slices.Collect(maps.Keys(value))) {
			out.Members = append(out.Members, Member{Key: name, Value: newNode(value[name], order.member(name))})
		}
		return out
	case []any:
		out := &Node{Kind: Sequence}
		for i, item := range value {
			out.Items = append(out.Items, newNode(item, order.element(i)))
		}
		return out
	}
	return &Node{Value: value}
}

// merge returns the node of a new value, in the order and style of the old one where it stays.
func (n *Node) merge(value any, order *Order) *Node {
	switch value := value.(type) {
	case map[string]any:
		if n.Kind != Mapping {
			break
		}
		old := n.byKey()
		var kept, added []string
		for i := range n.Members {
			if _, has := value[n.Members[i].Key]; has {
				kept = append(kept, n.Members[i].Key)
			}
		}
		for name := range value {
			if old[name] == nil {
				added = append(added, name)
			}
		}
		out := &Node{Kind: Mapping, layout: n.layout}
		for _, name := range order.arrange(kept, added) {
			m := Member{Key: name}
			if was := old[name]; was != nil {
				m.Value = was.merge(value[name], order.member(name))
			} else {
				m.Value = newNode(value[name], order.member(name))
			}
			out.Members = append(out.Members, m)
		}
		return out
	case []any:
		if n.Kind != Sequence || len(n.Items) != len(value) {
			break
		}
		out := &Node{Kind: Sequence, layout: n.layout}
		for i, item := range value {
			out.Items = append(out.Items, n.Items[i].merge(item, order.element(i)))
		}
		return out
	default:
		if n.is(value) {
			return n
		}
	}
	return newNode(value, order)
}

// is reports whether the node has a value, with json.Number for numbers.
func (n *Node) is(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		if n.Kind != Mapping || len(n.Members) != len(value) {
			return false
		}
		for i := range n.Members {
			if other, has := value[n.Members[i].Key]; !has || !n.Members[i].Value.is(other) {
				return false
			}
		}
		return true
	case []any:
		if n.Kind != Sequence || len(n.Items) != len(value) {
			return false
		}
		for i, item := range value {
			if !n.Items[i].is(item) {
				return false
			}
		}
		return true
	}
	return n.Kind == Scalar && n.Value == value
}

// writeJSON writes the node on one line, in its order.
func (n *Node) writeJSON(out *bytes.Buffer) {
	switch n.Kind {
	case Mapping:
		out.WriteByte('{')
		for i := range n.Members {
			if i > 0 {
				out.WriteByte(',')
			}
			writeScalar(out, n.Members[i].Key)
			out.WriteByte(':')
			n.Members[i].Value.writeJSON(out)
		}
		out.WriteByte('}')
	case Sequence:
		out.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				out.WriteByte(',')
			}
			item.writeJSON(out)
		}
		out.WriteByte(']')
	default:
		writeScalar(out, n.Value)
	}
}

func writeScalar(out *bytes.Buffer, value any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) == nil {
		out.Truncate(out.Len() - 1) // the line end
	}
}
