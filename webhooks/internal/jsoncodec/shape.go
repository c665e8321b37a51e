// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsoncodec

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// Shape describes the JSON of a type.
type Shape struct {
	// Kind is that of the type; Interface where only the type itself knows its JSON, and Invalid
	// where Decode does not know it.
	Kind reflect.Kind
	// Members are those of a struct, by name.
	Members []Member

	// Elem is that of what a pointer, a list or a map holds.
	Elem *Shape

	elem    reflect.Type // that a pointer points to
	bits    int          // of an integer
	skipped bool
}

// Member of a struct's JSON.
type Member struct {
	Name  string
	Shape *Shape

	quoted              string // the name, and the colon
	index               []int
	omitEmpty, omitZero bool
}

// Of returns the shape of a type. Members of the types that are to be skipped are left out of the object when it is
// read.
func Of(t reflect.Type, skip ...reflect.Type) *Shape {
	return builder{known: make(map[reflect.Type]*Shape), skip: skip}.shape(t)
}

type builder struct {
	known map[reflect.Type]*Shape
	skip  []reflect.Type
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func (b builder) shape(t reflect.Type) *Shape {
	if s, known := b.known[t]; known {
		return s
	}
	s := &Shape{Kind: t.Kind(), skipped: slices.Contains(b.skip, t)}
	b.known[t] = s // before its parts, which may be of the same type
	if p := reflect.PointerTo(t); p.Implements(marshaler) || p.Implements(textMarshaler) {
		s.Kind = reflect.Interface
		return s
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		s.Elem, s.elem = b.shape(t.Elem()), t.Elem()
		if t.Elem().Kind() == reflect.Uint8 {
			s.Kind = reflect.Invalid
		}
	case reflect.Map:
		s.Elem = b.shape(t.Elem())
		if t.Key().Kind() != reflect.String || t.Key().Implements(textMarshaler) {
			s.Kind = reflect.Invalid
		}
	case reflect.Struct:
		s.Members = b.members(t)
		slices.SortFunc(s.Members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
		if len(s.Members) > maxMembers {
			s.Kind = reflect.Invalid
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		s.bits = t.Bits()
	case reflect.String, reflect.Bool:
	default:
		s.Kind = reflect.Invalid
	}
	return s
}

// members reads the tags of a struct as encoding/json does. An embedded struct without a name of
// its own lends its members.
func (b builder) members(t reflect.Type) []Member {
	var all []Member
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			for _, lent := range b.members(f.Type) {
				lent.index = append([]int{i}, lent.index...)
				all = append(all, lent)
			}
		default:
			if name == "" {
				name = f.Name
			}
			all = append(all, Member{
				Name:      name,
				Shape:     b.shape(f.Type),
				quoted:    string(jsonindex.Quote(nil, name)) + ":",
				index:     f.Index,
				omitEmpty: strings.Contains(options, "omitempty"),
				omitZero:  strings.Contains(options, "omitzero"),
			})
		}
	}
	return all
}

// Member returns the member of a name, or nil.
func (s *Shape) Member(name string) *Member {
	for i := range s.Members {
		if s.Members[i].Name == name {
			return &s.Members[i]
		}
	}
	return nil
}

// Parts appends the value of each of the shape's members in an object to parts. The zero Value means that the object
// lacks the member, or that the shape skips it.
func (s *Shape) Parts(parts []jsonindex.Value, object jsonindex.Value) []jsonindex.Value {
	begin := len(parts)
	for range s.Members {
		parts = append(parts, jsonindex.Value{})
	}
	next := 0
	for name, value := range object.Fields() {
		if i := s.find(name, next); i >= 0 && !s.Members[i].Shape.skipped {
			parts[begin+i], next = value, i+1
		}
	}
	return parts
}

// Of returns the member's value. It returns the zero Value where the object is one, and where JSON leaves the member
// out because it is empty.
func (m *Member) Of(object reflect.Value) reflect.Value {
	if !object.IsValid() {
		return reflect.Value{}
	}
	value := m.Field(object)
	if m.leftOut(value) {
		return reflect.Value{}
	}
	return value
}

// Equals reports whether the member has what raw becomes when it is read. Raw may have an empty value that JSON would
// leave out.
func (m *Member) Equals(raw jsonindex.Value, object reflect.Value) bool {
	return m.Shape.Equals(raw, m.Field(object))
}

// Field returns the member's value, also where it is left out of the JSON.
func (m *Member) Field(object reflect.Value) reflect.Value {
	if len(m.index) == 1 {
		return object.Field(m.index[0])
	}
	return object.FieldByIndex(m.index)
}

// leftOut reports whether JSON has no member for the value, because it is empty or zero.
func (m *Member) leftOut(value reflect.Value) bool {
	return m.omitEmpty && empty(value) || m.omitZero && zero(value)
}

// zero is what encoding/json means by it: a type may have a method of its own, such as a time.
func zero(value reflect.Value) bool {
	if !value.CanAddr() {
		there := reflect.New(value.Type()).Elem()
		there.Set(value)
		value = there
	}
	if own, ok := value.Addr().Interface().(interface{ IsZero() bool }); ok {
		return own.IsZero()
	}
	return value.IsZero()
}

// empty is what encoding/json means by it.
func empty(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Struct:
		return false
	case reflect.Slice, reflect.Map:
		return value.Len() == 0
	default:
		return value.IsZero()
	}
}
