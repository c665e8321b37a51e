// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strconv"
	"strings"
)

// Find returns where the field of a path stands, such as spec.endpoints[0].addresses[1]. Of a field
// that is not there it returns the place of the nearest one above it, and false.
func (n *Node) Find(path string) (Position, bool) {
	at := n.Position
	for path != "" {
		next, place, rest := n.step(path)
		if next == nil {
			return at, false
		}
		n, at, path = next, place, rest
	}
	return at, true
}

// ScalarAt returns the scalar that stands at a path; false where there is none.
func (n *Node) ScalarAt(path string) (any, bool) {
	for path != "" {
		next, _, rest := n.step(path)
		if next == nil {
			return nil, false
		}
		n, path = next, rest
	}
	return n.Value, n.Kind == Scalar
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
		return n.longest(inside, func(after string) (string, bool) { return strings.CutPrefix(after, "]") })
	}
	return n.longest(strings.TrimPrefix(path, "."), func(after string) (string, bool) {
		return after, after == "" || after[0] == '.' || after[0] == '['
	})
}

func (n *Node) longest(path string, ends func(after string) (rest string, ok bool)) (next *Node, at Position, rest string) {
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
