// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsoncodec

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// maxMembers of a struct are those that a set of bits has room for.
const maxMembers = 64

// Reading is how completely an object was read.
type Reading int

const (
	// Unread is an object that is not of the shape: the value it was read into is of no use.
	Unread Reading = iota
	// Read is an object that was read in full, and would be written differently: it has an empty value that is left
	// out, or a time in another notation.
	Read
	// Exact is an object that would be written as it was read, except for order, space, escapes, nulls,
	// and empty values that are always written.
	Exact
)

// Decode reads JSON into a value, which is zero and can be set.
func (s *Shape) Decode(raw jsonindex.Value, into reflect.Value) Reading {
	d := decoder{exact: true}
	switch {
	case !d.read(s, raw, into):
		return Unread
	case !d.exact:
		return Read
	}
	return Exact
}

type decoder struct{ exact bool }

// read reads a value; it returns false where that is not of the shape.
func (d *decoder) read(s *Shape, raw jsonindex.Value, into reflect.Value) bool {
	switch s.Kind {
	case reflect.Struct:
		return d.object(s, raw, into)
	case reflect.Pointer:
		if kind := raw.Kind(); kind == 'n' || kind == 0 {
			return false
		}
		target := reflect.New(s.elem)
		into.Set(target)
		return d.read(s.Elem, raw, target.Elem())
	case reflect.Slice:
		return d.list(s, raw, into)
	case reflect.Map:
		return d.entries(s, raw, into)
	case reflect.String:
		text, ok := raw.Text()
		into.SetString(text)
		return ok
	case reflect.Bool:
		kind := raw.Kind()
		into.SetBool(kind == 't')
		return kind == 't' || kind == 'f'
	case reflect.Int, reflect.Int32, reflect.Int64:
		value := raw.Bytes()
		number, err := strconv.ParseInt(string(value), 10, s.bits)
		into.SetInt(number)
		d.exact = d.exact && string(value) != "-0"
		return err == nil
	case reflect.Interface:
		return d.opaque(raw, into)
	default:
		return false
	}
}

func (d *decoder) object(s *Shape, raw jsonindex.Value, into reflect.Value) bool {
	if raw.Kind() != '{' {
		return false
	}
	var (
		seen uint64
		next int
	)
	for name, value := range raw.Fields() {
		i := s.find(name, next)
		if i < 0 || seen&(1<<i) != 0 {
			return false
		}
		seen |= 1 << i
		next = i + 1
		m := &s.Members[i]
		if m.Shape.skipped || value.Kind() == 'n' {
			continue
		}
		field := m.Field(into)
		if !d.read(m.Shape, value, field) {
			return false
		}
		if m.leftOut(field) {
			d.exact = false
		}
	}
	return true
}

// find returns the index of a member, or -1. Objects from the API server have their members in
// order, so that it is the next one or one soon after it.
func (s *Shape) find(name []byte, next int) int {
	for i := next; i < len(s.Members); i++ {
		if other := s.Members[i].Name; len(other) == len(name) && other == string(name) {
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

func (d *decoder) list(s *Shape, raw jsonindex.Value, into reflect.Value) bool {
	if raw.Kind() != '[' {
		return false
	}
	n := raw.Len()
	if n == 0 {
		into.Set(reflect.MakeSlice(into.Type(), 0, 0)) // which is not the same as none
	}
	into.Grow(n)
	into.SetLen(n)
	i := 0
	for item := range raw.Elements() {
		if item.Kind() == 'n' || !d.read(s.Elem, item, into.Index(i)) {
			return false
		}
		i++
	}
	return true
}

func (d *decoder) entries(s *Shape, raw jsonindex.Value, into reflect.Value) bool {
	if raw.Kind() != '{' {
		return false
	}
	if texts, ok := into.Addr().Interface().(*map[string]string); ok {
		return d.labels(raw, texts)
	}
	t := into.Type()
	into.Set(reflect.MakeMapWithSize(t, raw.Len()))
	key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	for name, member := range raw.Fields() {
		key.SetString(raw.Keep(name))
		value.SetZero()
		if member.Kind() == 'n' || !d.read(s.Elem, member, value) {
			return false
		}
		into.SetMapIndex(key, value)
	}
	return into.Len() == raw.Len() // no name is there twice
}

// labels reads the map that there is most often.
func (d *decoder) labels(raw jsonindex.Value, into *map[string]string) bool {
	texts := make(map[string]string, raw.Len())
	*into = texts
	for name, value := range raw.Fields() {
		text, ok := value.Text()
		if !ok {
			return false
		}
		texts[raw.Keep(name)] = text
	}
	return len(texts) == raw.Len()
}

// opaque reads what the type alone knows: a word, a number or a text, and any value where the type keeps
// its bytes.
func (d *decoder) opaque(raw jsonindex.Value, into reflect.Value) bool {
	value, object := raw.Bytes(), into.Addr().Interface()
	switch into := object.(type) {
	case *runtime.RawExtension:
		into.Raw = bytes.Clone(value)
		return true
	case *metav1.Time:
		return d.time(into, raw)
	}
	if len(value) == 0 || value[0] == '{' || value[0] == '[' {
		return false
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
func (d *decoder) time(into *metav1.Time, raw jsonindex.Value) bool {
	content, ok := raw.Plain()
	if !ok {
		return false
	}
	parsed, err := time.Parse(time.RFC3339, string(content))
	if err != nil {
		return false
	}
	into.Time = parsed.Local()
	// What has this length and this end has neither a fraction nor a zone.
	d.exact = d.exact && len(content) == len("2006-01-02T15:04:05Z") && content[len(content)-1] == 'Z' && !parsed.IsZero()
	return true
}
