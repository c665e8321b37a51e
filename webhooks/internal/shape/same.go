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
	switch s.Kind {
	case reflect.Pointer:
		return a.Pointer() == b.Pointer() || s.Elem.Same(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range s.Members {
			if m := &s.Members[i]; !m.Shape.Same(m.Of(a), m.Of(b)) {
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
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		return a.Equal(b)
	default:
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
}

func (s *Shape) entries(a, b reflect.Value) bool {
	for entry := a.MapRange(); entry.Next(); {
		if !s.Elem.Same(entry.Value(), b.MapIndex(entry.Key())) {
			return false
		}
	}
	return true
}
