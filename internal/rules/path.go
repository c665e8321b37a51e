// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Path is where a rule looks. It is a field.Path that is made only when there is an error to tell:
// a valid object has a hundred paths and no error, and a Path whose Field is not called stays on the stack.
type Path struct {
	up    *Path
	names []string // of fields, one below the other
	key   string   // of a map, where keyed
	index int      // of a list, where there are no names and no key
	keyed bool
}

// At is the path of a field of the object, or of one below it.
func At(names ...string) Path { return Path{names: names} }

// Child is the path of a field, or of one below it.
func (p Path) Child(names ...string) Path { return Path{up: &p, names: names} }

// Index is the path of an item.
func (p Path) Index(i int) Path { return Path{up: &p, index: i} }

// Key is the path of a map's value.
func (p Path) Key(key string) Path { return Path{up: &p, key: key, keyed: true} }

// field is the path for an error. The names are copied, or else every Path would have to be kept.
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

// Field is the path as errors have it.
func (p Path) Field() *field.Path { return p.field() }
