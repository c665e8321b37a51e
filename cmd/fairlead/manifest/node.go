// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strconv"
	"strings"
)

// Position is a place in a file. Both count from 1; a column counts characters.
type Position struct{ Line, Column int }

// Kind is the shape of a node.
type Kind int

// The kinds of nodes.
const (
	Scalar Kind = iota
	Mapping
	Sequence
)

// Node is a value and where it stands.
type Node struct {
	Position
	Kind Kind
	// Value of a scalar: nil, bool, int64, float64 or string, as JSON decoding would give it.
	Value any
	// Members of a mapping, in their order, each key once.
	Members []Member
	// Items of a sequence.
	Items []*Node
	// Problems of this very node.
	Problems []Problem
}

// Member is a key of a mapping, the place of the key, and its value.
type Member struct {
	Position
	Key   string
	Value *Node
}

// Problem is what cannot be, or cannot be meant.
type Problem struct {
	Position
	// Rule is a stable word: "syntax" or "duplicate-key".
	Rule string
	// Key of the mapping that it is about; "" where it is about the node.
	Key     string
	Message string
}

// Get returns the value of a key, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Key == key {
			return n.Members[i].Value
		}
	}
	return nil
}

// Text returns the string that stands under a key; "" where there is none.
func (n *Node) Text(key string) string {
	if value := n.Get(key); value != nil {
		text, _ := value.Value.(string)
		return text
	}
	return ""
}

// Data returns the value as decoded JSON, which the caller may change.
func (n *Node) Data() any {
	switch n.Kind {
	case Mapping:
		data := make(map[string]any, len(n.Members))
		for i := range n.Members {
			data[n.Members[i].Key] = n.Members[i].Value.Data()
		}
		return data
	case Sequence:
		data := make([]any, len(n.Items))
		for i, item := range n.Items {
			data[i] = item.Data()
		}
		return data
	}
	return n.Value
}

// AllProblems calls visit with every problem in the node or below, and the path to it.
func (n *Node) AllProblems(visit func(path string, p Problem)) { n.problems("", visit) }

func (n *Node) problems(path string, visit func(path string, p Problem)) {
	for _, p := range n.Problems {
		at := path
		if p.Key != "" {
			at = join(path, p.Key)
		}
		visit(at, p)
	}
	for i := range n.Members {
		if m := &n.Members[i]; m.Value.Kind != Scalar || len(m.Value.Problems) > 0 {
			m.Value.problems(join(path, m.Key), visit)
		}
	}
	for i, item := range n.Items {
		item.problems(path+"["+strconv.Itoa(i)+"]", visit)
	}
}

// join writes a key that has dots or slashes in brackets, as paths of errors do.
func join(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./"):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}
