// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Path is the path of a field. Unlike a field.Path, it costs nothing until there is an error: a valid object has a
// hundred paths and no error. A Path whose Field is not called stays on the stack.
type Path struct {
	up    *Path
	names []string // the names of fields, from the outermost to the innermost
	key   string   // the key of a map, if keyed is true
	index int      // the index in a list, if there are no names and no key
	keyed bool
}

// At returns the path of a field of the object, or of a field below it.
func At(names ...string) Path { return Path{names: names} }

// Child returns the path of a field below p.
func (p Path) Child(names ...string) Path { return Path{up: &p, names: names} }

// Index returns the path of an item of a list.
func (p Path) Index(i int) Path { return Path{up: &p, index: i} }

// Key returns the path of a value of a map.
func (p Path) Key(key string) Path { return Path{up: &p, key: key, keyed: true} }

// field returns the path for an error. It copies the names; otherwise every Path would move to the heap.
func (p *Path) field() *field.Path {
	var at *field.Path
	if p.up != nil {
		at = p.up.field()
	}
	switch {
	case p.keyed:
		return at.Key(strings.Clone(p.key))
	case len(p.names) == 0:
		return at.Index(p.index)
	}
	for _, name := range p.names {
		at = at.Child(strings.Clone(name))
	}
	return at
}

// Field returns the path for an error.
func (p Path) Field() *field.Path { return p.field() }
