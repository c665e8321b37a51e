// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-dev/fairlead/webhooks/internal/shape"
	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// patch writes the way from one state of a typed object to another as operations (RFC 6902) on the
// document that the object was read from. The document may hold members that the type does not
// know and lack ones that it always writes; no operation touches either.
//
// It compares the values, and looks into the document, and writes JSON, only where they differ.
type patch struct {
	path    []byte // of the value at hand, as a JSON pointer
	written []byte
}

func newPatch() *patch {
	return &patch{path: make([]byte, 0, 64), written: make([]byte, 0, 1024)}
}

// end answers the operations as JSON; nil where there are none.
func (p *patch) end() []byte {
	if len(p.written) == 0 {
		return nil
	}
	return append(p.written, ']')
}

// diff writes how before became after. It fails where the change would take something away.
func (p *patch) diff(s *shape.Shape, document wire.Value, before, after reflect.Value) error {
	if s.Same(before, after) {
		return nil
	}
	return p.value(s, document, before, after)
}

// value goes where the document has something, and the states differ.
func (p *patch) value(s *shape.Shape, document wire.Value, before, after reflect.Value) error {
	s, was, now := target(s, before, after)
	switch {
	case s.Kind == reflect.Struct && now.IsValid() && document.Kind() == '{':
		return p.object(s, document, was, now)
	case s.Kind == reflect.Map && now.IsValid() && document.Kind() == '{':
		return p.entries(s, document, was, now)
	case s.Kind == reflect.Slice && was.IsValid() && now.IsValid() && document.Kind() == '[':
		return p.list(s, document, was, now)
	}
	return p.operation(s, "replace", was, now)
}

func (p *patch) object(s *shape.Shape, document wire.Value, before, after reflect.Value) error {
	parts := s.Parts(document)
	for i := range s.Members {
		m := &s.Members[i]
		if err := p.member(m.Shape, parts[i], m.Name, m.Of(before), m.Of(after)); err != nil {
			return err
		}
	}
	return nil
}

// entries goes through a map, in the order of the keys.
func (p *patch) entries(s *shape.Shape, document wire.Value, before, after reflect.Value) error {
	keys := map[string]reflect.Value{}
	for _, m := range []reflect.Value{before, after} {
		if !m.IsValid() {
			continue
		}
		for _, key := range m.MapKeys() {
			keys[key.String()] = key
		}
	}
	names := make([]string, 0, len(keys))
	for name := range keys {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		var was reflect.Value
		if before.IsValid() {
			was = before.MapIndex(keys[name])
		}
		if err := p.member(s.Elem, document.Field(name), name, was, after.MapIndex(keys[name])); err != nil {
			return err
		}
	}
	return nil
}

// member looks at a part of an object, of which the document has given.
func (p *patch) member(s *shape.Shape, given wire.Value, name string, before, after reflect.Value) error {
	if s.Same(before, after) {
		return nil
	}
	defer p.leave(len(p.path))
	p.enter(name)
	switch {
	case !after.IsValid() && given.Exists() && given.Kind() != 'n':
		return fmt.Errorf("it removed %s", p.path)
	case !after.IsValid():
		return nil
	case given.Exists():
		return p.value(s, given, before, after)
	}
	return p.operation(s, "add", before, after)
}

func (p *patch) list(s *shape.Shape, document wire.Value, before, after reflect.Value) error {
	if after.Len() < before.Len() || document.Len() != before.Len() {
		return fmt.Errorf("it shortened %s from %d items to %d", p.path, document.Len(), after.Len())
	}
	i := 0
	for item := range document.Elements() {
		if !s.Elem.Same(before.Index(i), after.Index(i)) {
			at := len(p.path)
			p.enter(strconv.Itoa(i))
			if err := p.value(s.Elem, item, before.Index(i), after.Index(i)); err != nil {
				return err
			}
			p.leave(at)
		}
		i++
	}
	defer p.leave(len(p.path))
	p.enter("-")
	for ; i < after.Len(); i++ {
		if err := p.operation(s.Elem, "add", reflect.Value{}, after.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (p *patch) operation(s *shape.Shape, op string, before, after reflect.Value) error {
	p.begin(op)
	p.written = append(p.written, `,"value":`...)
	if err := p.fresh(s, before, after); err != nil {
		return err
	}
	p.written = append(p.written, '}')
	return nil
}

// begin writes an operation on the value at hand as far as its value.
func (p *patch) begin(op string) {
	separator := byte(',')
	if len(p.written) == 0 {
		separator = '['
	}
	p.written = append(append(append(p.written, separator), `{"op":"`...), op...)
	p.written = wire.Quote(append(p.written, `","path":`...), p.path)
}

// fresh writes what after has beyond before, for a place where the user wrote nothing: a typed
// object writes zero values that nobody set, and those stay out.
func (p *patch) fresh(s *shape.Shape, before, after reflect.Value) error {
	s, was, now := target(s, before, after)
	if s.Kind != reflect.Struct || !was.IsValid() || !now.IsValid() {
		return p.whole(s, now)
	}
	var object wire.Object
	for i := range s.Members {
		m := &s.Members[i]
		a, b := m.Of(was), m.Of(now)
		if !b.IsValid() || m.Shape.Same(a, b) {
			continue
		}
		p.written = object.Name(p.written, []byte(m.Name))
		if err := p.fresh(m.Shape, a, b); err != nil {
			return err
		}
	}
	p.written = object.End(p.written)
	return nil
}

func (p *patch) whole(s *shape.Shape, value reflect.Value) (err error) {
	if !value.IsValid() {
		p.written = append(p.written, "null"...)
		return nil
	}
	p.written, err = s.Append(p.written, value)
	return err
}

func (p *patch) enter(name string) {
	p.path = append(append(p.path, '/'), escaper.Replace(name)...)
}

func (p *patch) leave(length int) { p.path = p.path[:length] }

// target follows pointers; what nil points to is no value.
func target(s *shape.Shape, before, after reflect.Value) (of *shape.Shape, was, now reflect.Value) {
	for s.Kind == reflect.Pointer {
		s, before, after = s.Elem, element(before), element(after)
	}
	return s, before, after
}

func element(pointer reflect.Value) reflect.Value {
	if !pointer.IsValid() {
		return pointer
	}
	return pointer.Elem()
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1")
