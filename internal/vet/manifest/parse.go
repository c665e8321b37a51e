// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import "bytes"

// Document is one value of a chunk, or what keeps it from being read.
type Document struct {
	Root *Node
	Err  *Problem
}

// maxDepth bounds how deep values nest; CRDs know no object half as deep.
const maxDepth = 512

// Parse reads the documents of a chunk: usually one.
func Parse(c Chunk) []Document {
	text := bytes.TrimLeft(c.Text, " \t\r\n")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return parseYAML(c)
	}
	documents := parseJSON(c)
	if readable(documents) {
		return documents
	}
	// A mapping of YAML may begin in the same way.
	if other := parseYAML(c); readable(other) || !quoted(text) {
		return other
	}
	return documents
}

func readable(documents []Document) bool {
	for _, d := range documents {
		if d.Err != nil {
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
