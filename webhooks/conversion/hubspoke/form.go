// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsoncodec"
	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// section is a part of a body: what it looks like as JSON, and where its values are, unless it was
// written here.
type section struct {
	json  []byte
	value jsonindex.Value
}

func given(value jsonindex.Value) section { return section{json: value.Bytes(), value: value} }

func (s section) exists() bool { return s.json != nil }

// sections are the parts of a body.
type sections struct{ spec, status section }

// savedSpec returns the spec of a saved form; ok is false where it is not all that counts there. A
// status counts for nothing.
func savedSpec(body jsonindex.Value) (spec section, ok bool) {
	for name, value := range body.Fields() {
		switch {
		case string(name) == "spec" && !spec.exists():
			spec = given(value)
		case string(name) != "status":
			return section{}, false
		}
	}
	return spec, body.Kind() == '{'
}

// form reads and writes forms of a type, section by section.
type form[F any] struct{ spec, status *jsoncodec.Member }

// formOf passes over the status of another version that travels in a status.
func formOf[F any]() form[F] {
	s := jsoncodec.Of(reflect.TypeFor[F](), reflect.TypeFor[*runtime.RawExtension]())
	return form[F]{s.Member("spec"), s.Member("status")}
}

// read reads a section of which the type loses nothing, or none.
func readSection(m *jsoncodec.Member, raw jsonindex.Value, into any) bool {
	if !raw.Exists() {
		return true
	}
	return m != nil && m.Shape.Decode(raw, m.Of(reflect.ValueOf(into).Elem())) == jsoncodec.Exact
}

// writeSection appends a section of a form to scratch, and returns what it appended.
func writeSection(m *jsoncodec.Member, scratch []byte, from any) (written section, rest []byte, ok bool) {
	if m == nil {
		return section{}, scratch, false
	}
	begin := len(scratch)
	scratch, err := m.Shape.Append(scratch, m.Of(reflect.ValueOf(from).Elem()))
	return section{json: scratch[begin:len(scratch):len(scratch)]}, scratch, err == nil
}

func sameSection(m *jsoncodec.Member, a, b any) bool {
	return m.Shape.Same(m.Of(reflect.ValueOf(a).Elem()), m.Of(reflect.ValueOf(b).Elem()))
}

// copySection sets a section of a form to that of another one.
func copySection(m *jsoncodec.Member, into, from any) {
	m.Of(reflect.ValueOf(into).Elem()).Set(m.Of(reflect.ValueOf(from).Elem()))
}
