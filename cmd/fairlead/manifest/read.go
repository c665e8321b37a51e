// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import "bytes"

// Reading is one value of a part with the places of its fields, or what keeps it from being read.
type Reading struct {
	Root *Node
	Err  *Problem
}

// maxNesting bounds how deep values that are only read nest; CRDs know no object half as deep.
const maxNesting = 512

// Read reads the values of a part: one, or several of JSON one after the other.
func Read(p Part) []Reading {
	p = p.body()
	text := bytes.TrimLeft(p.Text, " \t\r\n")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return readYAMLNodes(p)
	}
	values := readJSONNodes(p)
	if readable(values) {
		return values
	}
	// A mapping of YAML may begin in the same way.
	if other := readYAMLNodes(p); readable(other) || !quoted(text) {
		return other
	}
	return values
}

func readable(values []Reading) bool {
	for i := range values {
		if values[i].Err != nil {
			return false
		}
	}
	return true
}

// quoted says that a text looks like JSON beyond its first character.
func quoted(text []byte) bool {
	next := bytes.TrimLeft(text[1:], " \t\r\n")
	return len(next) > 0 && (next[0] == '"' || text[0] == '[' && (next[0] == '{' || next[0] == '['))
}
