// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"reflect"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// Says says that a value is what raw becomes when it is read; null becomes what is not set. No list
// or map is as good as an empty one.
func (s *Shape) Says(raw wire.Value, value reflect.Value) bool {
	kind := raw.Kind()
	if kind == 'n' || kind == 0 {
		return s.Unset(value)
	}
	switch s.Kind {
	case reflect.Pointer:
		return !value.IsNil() && s.Elem.Says(raw, value.Elem())
	case reflect.String:
		return raw.Says(value.String())
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
		return saysTexts(raw, texts)
	}
	return s.becomes(raw, value)
}

func saysTexts(raw wire.Value, texts map[string]string) bool {
	if raw.Len() != len(texts) {
		return false
	}
	for name, value := range raw.Fields() {
		if text, has := texts[string(name)]; !has || !value.Says(text) {
			return false
		}
	}
	return true
}

// becomes reads raw, and compares. What only the type itself knows may keep notes beside what it says,
// so its JSON has the last word.
func (s *Shape) becomes(raw wire.Value, value reflect.Value) bool {
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

// Unset says that nothing is set in a value: it has the JSON of the zero value.
func (s *Shape) Unset(value reflect.Value) bool {
	if s.Kind != reflect.Struct {
		return value.IsZero()
	}
	for i := range s.Members {
		m := &s.Members[i]
		if part := m.Of(value); part.IsValid() && !m.Shape.Unset(part) {
			return false
		}
	}
	return true
}
