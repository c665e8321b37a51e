// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsoncodec

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// Append writes a value of the shape, as encoding/json does except for three things: members are in
// the order of their names, as in an object from the API server; those that would be null are left
// out; and nothing is escaped for HTML.
func (s *Shape) Append(out []byte, value reflect.Value) ([]byte, error) {
	for s.Kind == reflect.Pointer {
		if value.IsNil() {
			return append(out, "null"...), nil
		}
		s, value = s.Elem, value.Elem()
	}
	switch s.Kind {
	case reflect.Struct:
		return s.appendStruct(out, value)
	case reflect.Slice:
		return s.appendList(out, value)
	case reflect.Map:
		return s.appendMap(out, value)
	case reflect.String:
		return jsonindex.Quote(out, value.String()), nil
	case reflect.Bool:
		return strconv.AppendBool(out, value.Bool()), nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(out, value.Int(), 10), nil
	default:
		if value.CanAddr() {
			value = value.Addr() // a method for JSON may be the pointer's
		}
		encoded, err := json.Marshal(value.Interface())
		return append(out, encoded...), err
	}
}

func (s *Shape) appendStruct(out []byte, value reflect.Value) ([]byte, error) {
	separator := byte('{')
	for i := range s.Members {
		m := &s.Members[i]
		part := m.Field(value)
		if m.absent(part) {
			continue
		}
		before := len(out)
		out = append(append(out, separator), m.quoted...)
		begin := len(out)
		var err error
		if out, err = m.Shape.Append(out, part); err != nil {
			return out, err
		}
		if string(out[begin:]) == "null" {
			out = out[:before]
			continue
		}
		separator = ','
	}
	if separator == '{' {
		out = append(out, '{')
	}
	return append(out, '}'), nil
}

func (s *Shape) appendList(out []byte, value reflect.Value) (_ []byte, err error) {
	separator := byte('[')
	for i := range value.Len() {
		if out, err = s.Elem.Append(append(out, separator), value.Index(i)); err != nil {
			return out, err
		}
		separator = ','
	}
	if separator == '[' {
		out = append(out, '[')
	}
	return append(out, ']'), nil
}

func (s *Shape) appendMap(out []byte, value reflect.Value) ([]byte, error) {
	keys := value.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	var (
		object jsonindex.Object
		err    error
	)
	for _, key := range keys {
		if out, err = s.Elem.Append(object.Name(out, []byte(key.String())), value.MapIndex(key)); err != nil {
			return out, err
		}
	}
	return object.End(out), nil
}

// absent reports whether a member is left out: it would be null, or is empty and left out for that.
func (m *Member) absent(value reflect.Value) bool {
	switch m.Shape.Kind {
	case reflect.Pointer:
		return value.IsNil()
	case reflect.String:
		return m.leftOut(value)
	case reflect.Slice, reflect.Map:
		return value.IsNil() || m.leftOut(value)
	default:
		return null(value) || m.leftOut(value)
	}
}

func null(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return value.IsNil()
	default:
		return false
	}
}
