// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// anchors counts the anchors of a document and their aliases, by name.
type anchors struct {
	names   []string // in their order
	lines   map[string]int
	aliases map[string]int
}

func anchorsOf(n *yaml.Node) anchors {
	a := anchors{lines: map[string]int{}, aliases: map[string]int{}}
	a.read(n)
	return a
}

func (a *anchors) read(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		a.aliases[n.Value]++
		return
	}
	if n.Anchor != "" {
		if _, has := a.lines[n.Anchor]; !has {
			a.names = append(a.names, n.Anchor)
		}
		a.lines[n.Anchor] = n.Line
	}
	for _, child := range n.Content {
		a.read(child)
	}
}

// unshared tells of the anchors and aliases that a new text does not have any more. Its values are the
// same without them, and are to be changed in several places from then on.
func (d *Document) unshared(text []byte) (notes []Note) {
	before := anchorsOf(d.root)
	if len(before.names) == 0 {
		return nil
	}
	root, _, err := load(text)
	if err != nil || root == nil {
		return nil // it was read a moment ago
	}
	after := anchorsOf(root)
	for _, name := range before.names {
		at := d.line - 1 + before.lines[name]
		switch _, kept := after.lines[name]; {
		case !kept:
			notes = append(notes, Note{at, fmt.Sprintf("the anchor &%s is gone: its value is written out in each place", name)})
		case after.aliases[name] < before.aliases[name]:
			notes = append(notes, Note{at, fmt.Sprintf("of the aliases of &%s not all are kept: its value is written out in their place", name)})
		}
	}
	return notes
}
