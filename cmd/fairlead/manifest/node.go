// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"slices"
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

func (p *Problem) Error() string { return p.Message }

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

// Text returns the string under a key, or "".
func (n *Node) Text(key string) string {
	if value := n.Get(key); value != nil {
		text, _ := value.Value.(string)
		return text
	}
	return ""
}

// Remove removes a member.
func (n *Node) Remove(key string) {
	n.Members = slices.DeleteFunc(n.Members, func(m Member) bool { return m.Key == key })
}

// SortLike sorts members in the order that another node has them in, and those that it does not have after them.
func (n *Node) SortLike(other *Node) {
	index := make(map[string]int, len(other.Members))
	for i := range other.Members {
		index[other.Members[i].Key] = i - len(other.Members)
	}
	slices.SortStableFunc(n.Members, func(a, b Member) int { return index[a.Key] - index[b.Key] })
	for i := range n.Members {
		if at, has := index[n.Members[i].Key]; has {
			n.Members[i].Value.SortLike(other.Members[at+len(other.Members)].Value)
		}
	}
	for i := range min(len(n.Items), len(other.Items)) {
		n.Items[i].SortLike(other.Items[i])
	}
}

// Data returns the value as the API machinery decodes JSON, with int64 and float64 for numbers. The caller
// may change it.
func (n *Node) Data() any { return n.data(parseNumber) }

// Exact returns the value with json.Number for numbers, digit by digit.
func (n *Node) Exact() any { return n.data(func(number json.Number) any { return number }) }

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
			at = Join(path, p.Key)
		}
		visit(at, p)
	}
	for i := range n.Members {
		if m := &n.Members[i]; m.Value.Kind != Scalar || len(m.Value.Problems) > 0 {
			m.Value.problems(Join(path, m.Key), visit)
		}
	}
	for i, item := range n.Items {
		item.problems(path+"["+strconv.Itoa(i)+"]", visit)
	}
}

// Join adds a key to a path, in brackets where it has dots or slashes, as paths of errors do.
func Join(path, key string) string {
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
	at, found := n.find(path)
	return at.Position, found != nil
}

// ScalarAt returns the scalar of a path, as Data does; false where there is none.
func (n *Node) ScalarAt(path string) (any, bool) {
	_, found := n.find(path)
	if found == nil || found.Kind != Scalar {
		return nil, false
	}
	return found.Data(), true
}

// find returns the nearest member above the field of a path, or its own, and the value of the field.
func (n *Node) find(path string) (at Member, found *Node) {
	at = Member{Position: n.Position, Value: n}
	for path != "" {
		next, rest := at.Value.step(path)
		if next.Value == nil {
			return at, nil
		}
		at, path = next, rest
	}
	return at, at.Value
}

// step goes down by one member or item. Keys may have dots themselves, so the longest one that the
// path begins with is meant.
func (n *Node) step(path string) (next Member, rest string) {
	inside, bracket := strings.CutPrefix(path, "[")
	if bracket && n.Kind == Sequence {
		number, rest, _ := strings.Cut(inside, "]")
		if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(n.Items) {
			return Member{Position: n.Items[i].Position, Value: n.Items[i]}, rest
		}
		return next, ""
	}
	path = strings.TrimPrefix(path, ".")
	for i := range n.Members {
		m := &n.Members[i]
		after, begins := strings.CutPrefix(path, m.Key)
		ends := after == "" || after[0] == '.' || after[0] == '['
		if bracket {
			after, begins = strings.CutPrefix(inside, m.Key)
			if begins {
				after, ends = strings.CutPrefix(after, "]")
			}
		}
		if begins && ends && (next.Value == nil || len(m.Key) > len(next.Key)) {
			next, rest = *m, after
		}
	}
	return next, rest
}
