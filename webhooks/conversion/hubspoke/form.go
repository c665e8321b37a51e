// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"reflect"

	"github.com/fairlead-dev/fairlead/webhooks/internal/shape"
	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// section is a part of a body: what it looks like as JSON, and where its values are, unless it was
// written here.
type section struct {
	json  []byte
	value wire.Value
}

func given(value wire.Value) section { return section{json: value.Bytes(), value: value} }

func (s section) exists() bool { return s.json != nil }

// sections are the parts of a body.
type sections struct{ spec, status section }

func (s sections) any() bool { return s.spec.exists() || s.status.exists() }

// append writes the sections as one object.
func (s sections) append(out []byte) []byte {
	out = append(out, '{')
	if s.spec.exists() {
		out = append(append(out, `"spec":`...), s.spec.json...)
	}
	if s.status.exists() {
		if s.spec.exists() {
			out = append(out, ',')
		}
		out = append(append(out, `"status":`...), s.status.json...)
	}
	return append(out, '}')
}

// split takes a body apart; it answers false where it holds anything else.
func split(body wire.Value) (s sections, ok bool) {
	for name, value := range body.Fields() {
		switch {
		case string(name) == "spec" && !s.spec.exists():
			s.spec = given(value)
		case string(name) == "status" && !s.status.exists():
			s.status = given(value)
		default:
			return sections{}, false
		}
	}
	return s, body.Kind() == '{'
}

// form reads and writes forms of a type, section by section.
type form[F any] struct{ spec, status *shape.Member }

func formOf[F any]() form[F] {
	s := shape.Of(reflect.TypeFor[F]())
	return form[F]{s.Member("spec"), s.Member("status")}
}

// read reads a body of which the type loses nothing. Of a section that was written here it takes the
// part of the form that it was written from.
func (f form[F]) read(s sections, into, written *F) bool {
	value, from := reflect.ValueOf(into).Elem(), reflect.ValueOf(written).Elem()
	return readSection(f.spec, s.spec, value, from) && readSection(f.status, s.status, value, from)
}

func readSection(m *shape.Member, s section, into, written reflect.Value) bool {
	switch {
	case !s.exists():
		return true
	case m == nil:
		return false
	case !s.value.Exists():
		m.Of(into).Set(m.Of(written))
		return true
	}
	return m.Shape.Decode(s.value, m.Of(into)) == shape.Exact
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
	if string(s.status.json) == "{}" {
		s.status = section{}
	}
	return s, scratch, ok
}

func writeSection(m *shape.Member, scratch []byte, from reflect.Value) (written section, rest []byte, ok bool) {
	if m == nil {
		return section{}, scratch, false
	}
	begin := len(scratch)
	scratch, err := m.Shape.Append(scratch, m.Of(from))
	return section{json: scratch[begin:len(scratch):len(scratch)]}, scratch, err == nil
}

// changed answers those of the sections in which two forms differ.
func (f form[F]) changed(s sections, a, b *F) sections {
	one, other := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	if s.spec.exists() && f.spec.Shape.Same(f.spec.Of(one), f.spec.Of(other)) {
		s.spec = section{}
	}
	if s.status.exists() && f.status.Shape.Same(f.status.Of(one), f.status.Of(other)) {
		s.status = section{}
	}
	return s
}
