// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
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

// Node is a value and its position.
type Node struct {
	Position
	Kind Kind
	// Value of a scalar: nil, bool, string, or a json.Number as JSON writes the number.
	Value any
	// Members of a mapping, in their order, each key once.
	Members []Member
	// Items of a sequence.
	Items []*Node
	// Problems of this very node.
	Problems []Problem

	layout *yaml.Node // nil in JSON, and where the value is new
}

// Member is a key of a mapping, the position of the key, and its value.
type Member struct {
	Position
	Key   string
	Value *Node
}

// Problem is an error in the text of a document.
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

// byKey returns the members by their keys.
func (n *Node) byKey() map[string]*Node {
	members := make(map[string]*Node, len(n.Members))
	for i := range n.Members {
		members[n.Members[i].Key] = n.Members[i].Value
	}
	return members
}

// Text returns the string under a key, or "".
func (n *Node) Text(key string) string {
	if value := n.Get(key); value != nil {
		text, _ := value.Value.(string)
		return text
	}
	return ""
}

// Data returns the value as the API machinery decodes JSON, with int64 and float64 for numbers. The caller
// may change it.
func (n *Node) Data() any { return n.data(parseNumber) }

func (n *Node) data(number func(json.Number) any) any {
	switch n.Kind {
	case Mapping:
		data := make(map[string]any, len(n.Members))
		for i := range n.Members {
			data[n.Members[i].Key] = n.Members[i].Value.data(number)
		}
		return data
	case Sequence:
		data := make([]any, len(n.Items))
		for i, item := range n.Items {
			data[i] = item.data(number)
		}
		return data
	}
	if value, ok := n.Value.(json.Number); ok {
		return number(value)
	}
	return n.Value
}

// exactNumber keeps a number digit by digit.
func exactNumber(number json.Number) any { return number }

func parseNumber(number json.Number) any {
	if whole, err := strconv.ParseInt(number.String(), 10, 64); err == nil {
		return whole
	}
	if value, err := strconv.ParseFloat(number.String(), 64); err == nil {
		return value
	}
	return number.String() // larger than any float64
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

// Find returns the position of the field of a path, such as spec.endpoints[0].addresses[1]. For a field
// that does not exist it returns the position of the nearest one above it, and false.
func (n *Node) Find(path string) (Position, bool) {
	at := n.Position
	for path != "" {
		next, position, rest := n.step(path)
		if next == nil {
			return at, false
		}
		n, at, path = next, position, rest
	}
	return at, true
}

// ScalarAt returns the scalar of a path, as Data does; false where there is none.
func (n *Node) ScalarAt(path string) (any, bool) {
	for path != "" {
		next, _, rest := n.step(path)
		if next == nil {
			return nil, false
		}
		n, path = next, rest
	}
	if n.Kind != Scalar {
		return nil, false
	}
	return n.Data(), true
}

// step goes down by one member or item. Keys may have dots themselves, so the longest one that the
// path begins with is meant.
func (n *Node) step(path string) (next *Node, at Position, rest string) {
	if inside, bracket := strings.CutPrefix(path, "["); bracket {
		if n.Kind == Sequence {
			number, rest, _ := strings.Cut(inside, "]")
			if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(n.Items) {
				return n.Items[i], n.Items[i].Position, rest
			}
			return nil, at, ""
		}
		return n.longestKey(inside, func(after string) (string, bool) { return strings.CutPrefix(after, "]") })
	}
	return n.longestKey(strings.TrimPrefix(path, "."), func(after string) (string, bool) {
		return after, after == "" || after[0] == '.' || after[0] == '['
	})
}

func (n *Node) longestKey(path string, ends func(after string) (rest string, ok bool)) (next *Node, at Position, rest string) {
	length := -1
	for i := range n.Members {
		m := &n.Members[i]
		after, begins := strings.CutPrefix(path, m.Key)
		if !begins || len(m.Key) <= length {
			continue
		}
		if left, ok := ends(after); ok {
			next, at, rest, length = m.Value, m.Position, left, len(m.Key)
		}
	}
	return next, at, rest
}
