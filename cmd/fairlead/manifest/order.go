// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Order defines where a field belongs among its siblings, and which field replaces another. A nil Order sorts
// by name.
type Order struct {
	of         reflect.Type
	path       string
	successors map[string]string
	item       func(i int) *Order
}

// OrderOf returns the order of the fields of a Go type, as its json tags name them. Successors are, by the
// path of a removed field such as "spec.hosts", the names of the siblings that replace it: its comments go
// to them.
func OrderOf(of reflect.Type, successors map[string]string) *Order {
	return &Order{of: of, successors: successors}
}

// OrderOfList returns the order of a list whose items are of several types.
func OrderOfList(item func(i int) *Order) *Order { return &Order{item: item} }

var marshaler = reflect.TypeFor[json.Marshaler]()

// fieldType follows pointers. It returns nil for types with a JSON form of their own.
func (o *Order) fieldType() reflect.Type {
	if o == nil || o.of == nil {
		return nil
	}
	t := o.of
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return nil
	}
	return t
}

func (o *Order) child(t reflect.Type, name string) *Order {
	if t == nil {
		return nil
	}
	return &Order{of: t, path: strings.TrimPrefix(o.path+"."+name, "."), successors: o.successors}
}

func (o *Order) member(name string) *Order {
	if o != nil && o.item != nil && name == "items" {
		return o
	}
	t := o.fieldType()
	switch {
	case t == nil:
		return nil
	case t.Kind() == reflect.Map:
		return o.child(t.Elem(), name)
	}
	for _, field := range fields(t) {
		if field.name == name {
			return o.child(field.of, name)
		}
	}
	return nil
}

func (o *Order) element(i int) *Order {
	if o != nil && o.item != nil {
		return o.item(i)
	}
	if t := o.fieldType(); t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		return o.child(t.Elem(), "[]")
	}
	return nil
}

func (o *Order) successor(name string) string {
	if o == nil {
		return ""
	}
	return o.successors[strings.TrimPrefix(o.path+"."+name, ".")]
}

type field struct {
	name string
	of   reflect.Type
}

func fields(t reflect.Type) (all []field) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && f.Anonymous:
			all = append(all, fields(f.Type)...)
		case name != "" && f.IsExported():
			all = append(all, field{name, f.Type})
		}
	}
	return all
}

// rank returns the index of each field; a field that the type does not have has none.
func (o *Order) rank() func(name string) (int, bool) {
	ranks := map[string]int{"apiVersion": -2, "kind": -1}
	if t := o.fieldType(); t != nil {
		for i, f := range fields(t) {
			if _, has := ranks[f.name]; !has {
				ranks[f.name] = i
			}
		}
	}
	return func(name string) (int, bool) {
		index, known := ranks[name]
		return index, known
	}
}

// arrange inserts added fields among those that are kept, which stay in their own order.
func (o *Order) arrange(kept, added []string) []string {
	rank := o.rank()
	slices.SortFunc(added, func(a, b string) int {
		x, known := rank(a)
		y, also := rank(b)
		switch {
		case known && also:
			return x - y
		case known:
			return -1
		case also:
			return 1
		}
		return strings.Compare(a, b)
	})
	out := slices.Clone(kept)
	for _, name := range added {
		index, known := rank(name)
		at, nearest := len(out), -1<<31
		if known {
			first := true
			for i, other := range out {
				p, ok := rank(other)
				switch {
				case ok && p < index && p >= nearest:
					at, nearest, first = i+1, p, false
				case ok && first:
					at, first = i, false
				}
			}
		}
		out = slices.Insert(out, at, name)
	}
	return out
}
