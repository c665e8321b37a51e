// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// maxMembers of a struct are those that a set of bits has room for.
const maxMembers = 64

// Reading says how well an object was read.
type Reading int

const (
	// Unread is an object that is not of the shape: the value it was read into is of no use.
	Unread Reading = iota
	// Read is an object that was read in full, and would be written otherwise than it stood there:
	// it has an empty value that is left out, or a time in another notation.
	Read
	// Exact is an object that would be written as it was read, but for order, space, escapes, nulls,
	// and empty values that are always written.
	Exact
)

// Decode reads JSON into a value, which is zero and can be set.
func (s *Shape) Decode(raw []byte, into reflect.Value) Reading {
	d := decoder{Cursor: wire.NewCursor(raw), text: string(raw), exact: true}
	switch {
	case !d.read(s, into):
		return Unread
	case !d.exact:
		return Read
	}
	return Exact
}

type decoder struct {
	wire.Cursor
	text  string // the JSON once more, of which the strings in the object are parts
	exact bool
}

// read reads the next value; it answers false where that is not of the shape.
func (d *decoder) read(s *Shape, into reflect.Value) bool {
	switch s.Kind {
	case reflect.Struct:
		return d.object(s, into)
	case reflect.Pointer:
		if d.Peek() == 'n' {
			return false
		}
		target := reflect.New(into.Type().Elem())
		into.Set(target)
		return d.read(s.Elem, target.Elem())
	case reflect.Slice:
		return d.list(s, into)
	case reflect.Map:
		return d.entries(s, into)
	case reflect.String:
		text, ok := d.string()
		into.SetString(text)
		return ok
	case reflect.Bool:
		value := d.Value()
		into.SetBool(string(value) == "true")
		return string(value) == "true" || string(value) == "false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		value := d.Value()
		number, err := strconv.ParseInt(string(value), 10, into.Type().Bits())
		into.SetInt(number)
		d.exact = d.exact && string(value) != "-0"
		return err == nil
	case reflect.Interface:
		return d.opaque(into)
	default:
		return false
	}
}

func (d *decoder) object(s *Shape, into reflect.Value) bool {
	if d.Peek() != '{' {
		return false
	}
	var (
		seen uint64
		next int
	)
	for more := d.Open('{'); more; more = d.More() {
		i := s.find(d.Name(), next)
		if i < 0 || seen&(1<<i) != 0 {
			return false
		}
		seen |= 1 << i
		next = i + 1
		m := &s.Members[i]
		if d.Peek() == 'n' || m.Shape.skipped {
			d.Value()
			continue
		}
		field := m.field(into)
		if !d.read(m.Shape, field) {
			return false
		}
		if m.omitEmpty && empty(field) {
			d.exact = false
		}
	}
	return true
}

// string reads a string. One without escapes costs no memory of its own.
func (d *decoder) string() (text string, ok bool) {
	if d.Peek() != '"' {
		return "", false
	}
	begin := d.At()
	value := d.Value()
	if len(value) < 2 || bytes.IndexByte(value, '\\') >= 0 {
		return wire.Text(value)
	}
	return d.text[begin+1 : d.At()-1], true
}

// find answers the index of a member, or -1. Objects from the API server have their members in
// order, so that it is the next one or one soon after it.
func (s *Shape) find(name []byte, next int) int {
	for i := next; i < len(s.Members); i++ {
		if s.Members[i].Name == string(name) {
			return i
		}
	}
	for i := range min(next, len(s.Members)) {
		if s.Members[i].Name == string(name) {
			return i
		}
	}
	return -1
}

func (d *decoder) list(s *Shape, into reflect.Value) bool {
	if d.Peek() != '[' {
		return false
	}
	n := d.Count()
	if n == 0 {
		into.Set(reflect.MakeSlice(into.Type(), 0, 0)) // which is not the same as none
	}
	into.Grow(n)
	into.SetLen(n)
	for i, more := 0, d.Open('['); more; i, more = i+1, d.More() {
		if i == n || d.Peek() == 'n' || !d.read(s.Elem, into.Index(i)) {
			return false
		}
	}
	return true
}

func (d *decoder) entries(s *Shape, into reflect.Value) bool {
	if d.Peek() != '{' {
		return false
	}
	t := into.Type()
	into.Set(reflect.MakeMap(t))
	key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	for more := d.Open('{'); more; more = d.More() {
		key.SetString(string(d.Name()))
		value.SetZero()
		if into.MapIndex(key).IsValid() || d.Peek() == 'n' || !d.read(s.Elem, value) {
			return false
		}
		into.SetMapIndex(key, value)
	}
	return true
}

// opaque reads what the type alone knows: a word, a number or a text.
func (d *decoder) opaque(into reflect.Value) bool {
	value := d.Value()
	if len(value) == 0 || value[0] == '{' || value[0] == '[' {
		return false
	}
	object := into.Addr().Interface()
	if at, ok := object.(*metav1.Time); ok {
		return d.time(at, value)
	}
	reader, ok := object.(json.Unmarshaler)
	if !ok || reader.UnmarshalJSON(value) != nil {
		return false
	}
	if d.exact {
		again, err := json.Marshal(object)
		d.exact = err == nil && bytes.Equal(again, value)
	}
	return true
}

// time does what the type would, which is all that is opaque in most objects, for less.
func (d *decoder) time(into *metav1.Time, value []byte) bool {
	text, ok := wire.Text(value)
	if !ok {
		return false
	}
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return false
	}
	into.Time = parsed.Local()
	var room [len(time.RFC3339)]byte
	d.exact = d.exact && !parsed.IsZero() && string(parsed.UTC().AppendFormat(room[:0], time.RFC3339)) == text
	return true
}
