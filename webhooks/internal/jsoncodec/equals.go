// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsoncodec

import (
	"reflect"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// Equals reports whether a value is what raw becomes when it is read. A null becomes what is not set, and a nil list or
// map equals an empty one.
func (s *Shape) Equals(raw jsonindex.Value, value reflect.Value) bool {
	kind := raw.Kind()
	if kind == 'n' || kind == 0 {
		return s.IsZero(value)
	}
	switch s.Kind {
	case reflect.Pointer:
		return !value.IsNil() && s.Elem.Equals(raw, value.Elem())
	case reflect.String:
		return raw.EqualsText(value.String())
	case reflect.Bool:
		return kind == 't' && value.Bool() || kind == 'f' && !value.Bool()
	case reflect.Int, reflect.Int32, reflect.Int64:
		number, err := strconv.ParseInt(string(raw.Bytes()), 10, 64)
		return err == nil && number == value.Int()
	case reflect.Slice, reflect.Map:
		if raw.Len() == 0 || value.Len() == 0 {
			return raw.Len() == value.Len()
		}
	}
	if texts, ok := value.Interface().(map[string]string); ok {
		return equalsTexts(raw, texts)
	}
	return s.becomes(raw, value)
}

func equalsTexts(raw jsonindex.Value, texts map[string]string) bool {
	if raw.Len() != len(texts) {
		return false
	}
	for name, value := range raw.Fields() {
		if text, has := texts[string(name)]; !has || !value.EqualsText(text) {
			return false
		}
	}
	return true
}

// becomes reads raw, and compares. What only the type itself knows may keep notes beside what it says,
// so its JSON has the last word.
func (s *Shape) becomes(raw jsonindex.Value, value reflect.Value) bool {
	read := reflect.New(value.Type())
	if s.Decode(raw, read.Elem()) == Unread {
		read = reflect.New(value.Type())
		if jsonv2.Unmarshal(raw.Bytes(), read.Interface()) != nil {
			return false
		}
	}
	if s.Same(read.Elem(), value) {
		return true
	}
	one, errOne := s.Append(nil, read.Elem())
	other, errOther := s.Append(nil, value)
	return errOne == nil && errOther == nil && string(one) == string(other)
}

// IsZero reports whether nothing is set in a value: it has the JSON of the zero value.
func (s *Shape) IsZero(value reflect.Value) bool {
	if s.Kind != reflect.Struct {
		return value.IsZero()
	}
	for i := range s.Members {
		m := &s.Members[i]
		if part := m.Of(value); part.IsValid() && !m.Shape.IsZero(part) {
			return false
		}
	}
	return true
}

// Same reports whether two values of the shape have the same JSON. Values that do not exist are the same. A nil list
// differs from an empty one unless both are left out.
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
		return s.sameMembers(a, b)
	case reflect.Slice:
		return a.IsNil() == b.IsNil() && a.Len() == b.Len() && s.sameItems(a, b)
	case reflect.Map:
		return a.IsNil() == b.IsNil() && a.Len() == b.Len() && s.sameEntries(a, b)
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

func (s *Shape) sameMembers(a, b reflect.Value) bool {
	for i := range s.Members {
		if !s.Members[i].same(a, b) {
			return false
		}
	}
	return true
}

func (s *Shape) sameItems(a, b reflect.Value) bool {
	for i := range a.Len() {
		if !s.Elem.Same(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

// same reports whether two objects have the same JSON in a member.
func (m *Member) same(a, b reflect.Value) bool {
	a, b = m.Field(a), m.Field(b)
	if m.omitEmpty || m.omitZero {
		without, also := m.leftOut(a), m.leftOut(b)
		if without || also {
			return without == also
		}
	}
	return m.Shape.Same(a, b)
}

func (s *Shape) sameEntries(a, b reflect.Value) bool {
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
