// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsoncodec"
	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// patch writes what became of a typed object as operations (RFC 6902) on the document that the object
// was read from. The document may hold members that the type does not know and lack ones that it
// always writes; no operation touches either.
//
// The document is the object as it was, so that no other copy is kept.
type patch struct {
	path    []byte // of the value at hand, as a JSON pointer
	written []byte
	parts   []jsonindex.Value // of the objects that are being compared
}

// newPatch begins a patch that is written into a buffer as far as that has room.
func newPatch(into *bytes.Buffer) *patch {
	return &patch{path: make([]byte, 0, 128), written: into.AvailableBuffer(), parts: make([]jsonindex.Value, 0, 64)}
}

// end returns the operations as JSON; nil where there are none.
func (p *patch) end() []byte {
	if len(p.written) == 0 {
		return nil
	}
	return append(p.written, ']')
}

// diff writes the operations that make the object of a document this one. It fails where that would remove
// something other than a reserved annotation.
func (p *patch) diff(s *jsoncodec.Shape, document jsonindex.Value, now reflect.Value) error {
	for s.Kind == reflect.Pointer && !now.IsNil() {
		s, now = s.Elem, now.Elem()
	}
	switch document.Kind() {
	case '{':
		if s.Kind == reflect.Struct {
			return p.object(s, document, now)
		}
	case '[':
		if s.Kind == reflect.Slice {
			return p.list(s, document, now)
		}
	}
	switch {
	case s.Equals(document, now):
		return nil
	case s.Kind == reflect.Map && document.Kind() == '{':
		return p.entries(s, document, now)
	}
	return p.operation("replace", s, now)
}

func (p *patch) object(s *jsoncodec.Shape, document jsonindex.Value, now reflect.Value) error {
	begin := len(p.parts)
	p.parts = s.Parts(p.parts, document)
	for i := range s.Members {
		m, was := &s.Members[i], p.parts[begin+i]
		switch {
		case m.Of(now).IsValid(), was.Exists() && m.Shape.Kind == reflect.Map:
			if err := p.member(m.Shape, m.Name, was, m.Field(now)); err != nil {
				return err
			}
		case was.Exists() && !m.Equals(was, now):
			return p.removed(m.Name)
		}
	}
	p.parts = p.parts[:begin]
	return nil
}

// member compares a part of an object that is set now.
func (p *patch) member(s *jsoncodec.Shape, name string, was jsonindex.Value, now reflect.Value) error {
	if !was.Exists() && s.IsZero(now) {
		return nil
	}
	at := len(p.path)
	p.enter(name)
	if err := p.part(s, was, now); err != nil {
		return err
	}
	p.leave(at)
	return nil
}

// part compares a member or an item, which may be absent from the document, or null.
func (p *patch) part(s *jsoncodec.Shape, was jsonindex.Value, now reflect.Value) error {
	op := "replace"
	switch {
	case !was.Exists():
		op = "add"
	case was.Kind() != 'n':
		return p.diff(s, was, now)
	case s.IsZero(now):
		return nil
	}
	p.begin(op)
	p.written = append(p.written, `,"value":`...)
	if err := p.set(s, now); err != nil {
		return err
	}
	p.written = append(p.written, '}')
	return nil
}

// entries compares a map, in the order of the keys.
func (p *patch) entries(s *jsoncodec.Shape, document jsonindex.Value, now reflect.Value) error {
	was := make(map[string]jsonindex.Value, document.Len())
	for name, value := range document.Fields() {
		was[string(name)] = value
	}
	is := make(map[string]reflect.Value, now.Len())
	for entry := now.MapRange(); entry.Next(); {
		is[entry.Key().String()] = entry.Value()
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, stays := is[name]; !stays && was[name].Kind() != 'n' {
			if err := p.removed(name); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if err := p.member(s.Elem, name, was[name], is[name]); err != nil {
			return err
		}
	}
	return nil
}

// reservedPath is where the annotations begin that a webhook may remove.
var reservedPath = []byte("/metadata/annotations/" + strings.ReplaceAll(reservedPrefix, "/", "~1"))

// removed writes the operation that removes a member. It fails for any but a reserved annotation.
func (p *patch) removed(name string) error {
	at := len(p.path)
	p.enter(name)
	if !bytes.HasPrefix(p.path, reservedPath) {
		return fmt.Errorf("it removed %s", p.path)
	}
	p.begin("remove")
	p.written = append(p.written, '}')
	p.leave(at)
	return nil
}

func (p *patch) list(s *jsoncodec.Shape, document jsonindex.Value, now reflect.Value) error {
	if now.Len() < document.Len() {
		return fmt.Errorf("it shortened %s from %d items to %d", p.path, document.Len(), now.Len())
	}
	at, i := len(p.path), 0
	for was := range document.Elements() {
		p.path = strconv.AppendInt(append(p.path, '/'), int64(i), 10)
		if err := p.part(s.Elem, was, now.Index(i)); err != nil {
			return err
		}
		p.leave(at)
		i++
	}
	p.path = append(p.path, "/-"...)
	for ; i < now.Len(); i++ {
		if err := p.operation("add", s.Elem, now.Index(i)); err != nil {
			return err
		}
	}
	p.leave(at)
	return nil
}

// operation writes an operation with all of a value.
func (p *patch) operation(op string, s *jsoncodec.Shape, value reflect.Value) (err error) {
	p.begin(op)
	p.written, err = s.Append(append(p.written, `,"value":`...), value)
	p.written = append(p.written, '}')
	return err
}

// begin writes an operation on the value at hand up to its value.
func (p *patch) begin(op string) {
	separator := byte(',')
	if len(p.written) == 0 {
		separator = '['
	}
	p.written = append(append(append(p.written, separator), `{"op":"`...), op...)
	p.written = jsonindex.Quote(append(p.written, `","path":`...), p.path)
}

// set writes the part of a value that is set, where the user wrote nothing: a typed object would write zero
// values that were not set as well.
func (p *patch) set(s *jsoncodec.Shape, value reflect.Value) (err error) {
	if s.Kind != reflect.Struct {
		p.written, err = s.Append(p.written, value)
		return err
	}
	var object jsonindex.Object
	for i := range s.Members {
		m := &s.Members[i]
		part := m.Of(value)
		if !part.IsValid() || m.Shape.IsZero(part) {
			continue
		}
		p.written = object.Name(p.written, []byte(m.Name))
		if err := p.set(m.Shape, part); err != nil {
			return err
		}
	}
	p.written = object.End(p.written)
	return nil
}

// enter appends the name of a member to the path, escaped as RFC 6901 requires.
func (p *patch) enter(name string) {
	p.path = append(p.path, '/')
	for i := range len(name) {
		switch name[i] {
		case '~':
			p.path = append(p.path, "~0"...)
		case '/':
			p.path = append(p.path, "~1"...)
		default:
			p.path = append(p.path, name[i])
		}
	}
}

func (p *patch) leave(length int) { p.path = p.path[:length] }
