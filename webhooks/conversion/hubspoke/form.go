// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"reflect"

	"github.com/fairlead-dev/fairlead/webhooks/internal/shape"
	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// sections are the parts of a body as JSON; nil where absent.
type sections struct{ spec, status []byte }

func (s sections) any() bool { return s.spec != nil || s.status != nil }

// append writes the sections as one object.
func (s sections) append(out []byte) []byte {
	out = append(out, '{')
	if s.spec != nil {
		out = append(append(out, `"spec":`...), s.spec...)
	}
	if s.status != nil {
		if s.spec != nil {
			out = append(out, ',')
		}
		out = append(append(out, `"status":`...), s.status...)
	}
	return append(out, '}')
}

// split takes a body apart; it answers false where it holds anything else.
func split(body []byte) (s sections, ok bool) {
	for name, value := range wire.Fields(body) {
		switch {
		case string(name) == "spec" && s.spec == nil:
			s.spec = value
		case string(name) == "status" && s.status == nil:
			s.status = value
		default:
			return sections{}, false
		}
	}
	return s, len(body) > 0 && body[0] == '{'
}

// form reads and writes forms of a type, section by section.
type form[F any] struct{ spec, status *shape.Member }

func formOf[F any]() form[F] {
	s := shape.Of(reflect.TypeFor[F]())
	return form[F]{s.Member("spec"), s.Member("status")}
}

// read reads a body of which the type loses nothing.
func (f form[F]) read(s sections, into *F) bool {
	value := reflect.ValueOf(into).Elem()
	return readSection(f.spec, s.spec, value) && readSection(f.status, s.status, value)
}

func readSection(m *shape.Member, raw []byte, into reflect.Value) bool {
	return raw == nil || m != nil && m.Shape.Decode(raw, m.Of(into)) == shape.Exact
}

// write appends a form to scratch, of which the sections are parts. An empty status is as good as
// none.
func (f form[F]) write(scratch []byte, from *F) (s sections, rest []byte, ok bool) {
	value := reflect.ValueOf(from).Elem()
	s.spec, scratch, ok = writeSection(f.spec, scratch, value)
	if !ok {
		return s, scratch, false
	}
	s.status, scratch, ok = writeSection(f.status, scratch, value)
	if string(s.status) == "{}" {
		s.status = nil
	}
	return s, scratch, ok
}

func writeSection(m *shape.Member, scratch []byte, from reflect.Value) (written, rest []byte, ok bool) {
	if m == nil {
		return nil, scratch, false
	}
	begin := len(scratch)
	scratch, err := m.Shape.Append(scratch, m.Of(from))
	return scratch[begin:len(scratch):len(scratch)], scratch, err == nil
}

// changed answers those of the sections in which two forms differ.
func (f form[F]) changed(s sections, a, b *F) sections {
	one, other := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	if s.spec != nil && f.spec.Shape.Same(f.spec.Of(one), f.spec.Of(other)) {
		s.spec = nil
	}
	if s.status != nil && f.status.Shape.Same(f.status.Of(one), f.status.Of(other)) {
		s.status = nil
	}
	return s
}
