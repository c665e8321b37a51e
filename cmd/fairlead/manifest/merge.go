// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"reflect"
	"slices"
)

// merge returns the node with the value of another one: n itself where they are the same, and otherwise a node that
// refers to n. Members that stay keep their order, and new ones are added in the order that they have in the other.
func (n *Node) merge(to *Node) *Node {
	switch {
	case n.is(to.Exact()):
		return n
	case n.Kind != to.Kind || n.Kind == Sequence && len(n.Items) != len(to.Items):
		return to
	}
	out := &Node{Kind: n.Kind, Value: to.Value, Successors: to.Successors, was: n}
	old, values := n.byKey(), to.byKey()
	for i := range n.Items {
		out.Items = append(out.Items, n.Items[i].merge(to.Items[i]))
	}
	for _, m := range n.Members {
		if value := values[m.Key]; value != nil {
			m.Value = m.Value.merge(value)
			out.Members = append(out.Members, m)
		}
	}
	for i, m := range to.Members {
		if old[m.Key] == nil {
			out.Members = slices.Insert(out.Members, out.place(to.Members, i), m)
		}
	}
	return out
}

func (n *Node) byKey() map[string]*Node {
	values := make(map[string]*Node, len(n.Members))
	for i := range n.Members {
		values[n.Members[i].Key] = n.Members[i].Value
	}
	return values
}

// place returns the index of a new member: after the nearest one that precedes it in order, or else before the first
// one that follows it.
func (n *Node) place(order []Member, added int) int {
	index := func(key string) int {
		return slices.IndexFunc(n.Members, func(m Member) bool { return m.Key == key })
	}
	for i := added - 1; i >= 0; i-- {
		if at := index(order[i].Key); at >= 0 {
			return at + 1
		}
	}
	return 0
}

// is reports whether the node has a value, with json.Number for numbers.
func (n *Node) is(value any) bool { return reflect.DeepEqual(n.Exact(), value) }
