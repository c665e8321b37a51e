// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import "reflect"

// Same says that two values of the shape have the same JSON. No value is as good as nil, and a nil
// list differs from an empty one unless both are left out.
func (s *Shape) Same(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	for s.Kind == reflect.Pointer {
		if a.Pointer() == b.Pointer() {
			return true
		}
		s, a, b = s.Elem, a.Elem(), b.Elem()
		if !a.IsValid() || !b.IsValid() {
			return false
		}
	}
	switch s.Kind {
	case reflect.Struct:
		for i := range s.Members {
			if !s.Members[i].same(a, b) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !s.Elem.Same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		return a.IsNil() == b.IsNil() && a.Len() == b.Len() && s.entries(a, b)
	case reflect.String:
		return a.String() == b.String()
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	default:
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
}

// same says that two objects have the same JSON in a member.
func (m *Member) same(a, b reflect.Value) bool {
	a, b = m.field(a), m.field(b)
	if m.omitEmpty {
		without, also := empty(a), empty(b)
		if without || also {
			return without == also
		}
	}
	return m.Shape.Same(a, b)
}

func (s *Shape) entries(a, b reflect.Value) bool {
	t := a.Type()
	key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	for entry := a.MapRange(); entry.Next(); {
		key.SetIterKey(entry)
		value.SetIterValue(entry)
		if other := b.MapIndex(key); !other.IsValid() || !s.Elem.Same(value, other) {
			return false
		}
	}
	return true
}
