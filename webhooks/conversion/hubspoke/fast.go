// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsoncodec"
	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// The fast conversion is for well-formed objects of which the types know every field, and whose view was not
// edited against a saved form. It decodes the bytes once into the typed form and does not change metadata. All
// other objects go through trees, which is total. Both give the same result, as a fuzz test verifies. The fast
// one exists for the ratio of 6 that docs/reference/performance.md promises: the total one has 0.3 to 0.4.

// fastResult is a result in bytes.
type fastResult struct {
	body       sections
	annotation string
	value      []byte // of the restore annotation to set; nil sets none
}

// fast appends the object at another version; it returns false where only total can convert it.
func (c *Converter) fast(out []byte, object jsonindex.Value, toVersion string) (Converted, bool) {
	e, ok := parseEnvelope(object)
	if !ok {
		return Converted{}, false
	}
	convert := c.fastToSpoke
	switch {
	case toVersion == c.hub && e.apiVersion.EqualsText(c.apiVersions[c.spoke]):
		convert = c.fastToHub
	case toVersion != c.spoke || !e.apiVersion.EqualsText(c.apiVersions[c.hub]):
		return Converted{}, false
	}
	if slices.ContainsFunc(c.unionsBefore(toVersion), func(u Union) bool { return u.isEmptied(e.body.spec.value) }) {
		return Converted{}, false
	}
	scratch, saved := review.Buffer(), jsonindex.NewDocument()
	defer review.Release(scratch)
	defer saved.Release()
	scratch.Grow(4 * len(object.Bytes()))
	r, ok := convert(e, scratch.AvailableBuffer(), saved)
	if !ok {
		return Converted{}, false
	}
	return Converted{Object: e.append(out, c.apiVersions[toVersion], r), Saved: len(r.value)}, true
}

// typedForms are the forms of one conversion. They are pooled, since allocating them is a good part of its
// cost.
type typedForms[F, T any] struct {
	form, again F
	to, saved   T
}

// fast converts an object. The result is in the memory of scratch, of the source, or of document, which is for
// the saved form.
func (d direction[F, T]) fast(e envelope, scratch []byte, document *jsonindex.Document) (r fastResult, ok bool) {
	f, ok := d.pool.Get().(*typedForms[F, T])
	if !ok {
		f = new(typedForms[F, T])
	}
	r, ok = d.fastForms(f, e, scratch, document)
	*f = typedForms[F, T]{to: f.to}
	d.pool.Put(f) // after a panic, the garbage collector has it
	return r, ok
}

func (d direction[F, T]) fastForms(f *typedForms[F, T], e envelope, scratch []byte, document *jsonindex.Document) (r fastResult, ok bool) {
	if len(d.bulk) > 0 || e.annotations.get(d.save).Exists() ||
		!readSection(d.source.spec, e.body.spec.value, &f.form) || !readSection(d.source.status, e.body.status.value, &f.form) {
		return r, false
	}
	saved, has, ok := d.saved.fastDecode(e, document)
	if !ok || has && (!saved.exists() || !e.body.spec.exists()) {
		return r, false
	}
	parts, ok := d.splitStatus(e)
	if !ok {
		return r, false
	}
	if !has || e.body.status.exists() && !parts.carried.Exists() {
		d.into(f.form, &f.to)
	}
	r = fastResult{annotation: d.save.annotation}
	if r.body.status, scratch, ok = d.fastStatus(f, e, parts.carried, scratch); !ok {
		return r, false
	}
	switch {
	case has:
		r.body.spec = saved
		if !readSection(d.target.spec, saved.value, &f.saved) {
			return r, false
		}
		copySection(d.target.spec, &f.to, &f.saved)
	case e.body.spec.exists():
		if r.body.spec, scratch, ok = writeSection(d.target.spec, scratch, &f.to); !ok {
			return r, false
		}
	}
	f.again = d.back(f.to)
	if has && !d.believes && !sameSection(d.source.spec, &f.again, &f.form) {
		return r, false // which is not what the hub says, see restored
	}
	if r.body.status, scratch, ok = d.fastCarry(f, parts, r.body.status, scratch); !ok {
		return r, false
	}
	if d.fastRestorable(f, e) {
		return r, true
	}
	r.value, ok = d.save.fastEncode(scratch, e, r.body.spec)
	return r, ok
}

func (d direction[F, T]) fastRestorable(f *typedForms[F, T], e envelope) bool {
	if !e.body.spec.exists() || sameSection(d.source.spec, &f.again, &f.form) {
		return true
	}
	if !d.hasImplied(&f.form) {
		return false
	}
	d.complete(&f.again)
	d.complete(&f.form)
	return sameSection(d.source.spec, &f.again, &f.form)
}

// section is a part of a body: its JSON, and its values unless it was written here.
type section struct {
	json  []byte
	value jsonindex.Value
}

func sectionOf(value jsonindex.Value) section { return section{json: value.Bytes(), value: value} }

func (s section) exists() bool { return s.json != nil }

// sections are the parts of a body.
type sections struct{ spec, status section }

// savedSpec returns the spec of a saved form; ok is false where it has other members than a status, which is
// ignored.
func savedSpec(body jsonindex.Value) (spec section, ok bool) {
	for name, value := range body.Fields() {
		switch {
		case string(name) == "spec" && !spec.exists():
			spec = sectionOf(value)
		case string(name) != "status":
			return section{}, false
		}
	}
	return spec, body.Kind() == '{'
}

// typed encodes and decodes forms of a type by section.
type typed[F any] struct{ spec, status *jsoncodec.Member }

// typedOf ignores the status of another version within a status.
func typedOf[F any]() typed[F] {
	s := jsoncodec.Of(reflect.TypeFor[F](), reflect.TypeFor[*runtime.RawExtension]())
	return typed[F]{s.Member("spec"), s.Member("status")}
}

// readSection reads a section, if there is one, and reports whether the type has all of it.
func readSection(m *jsoncodec.Member, raw jsonindex.Value, into any) bool {
	if !raw.Exists() {
		return true
	}
	return m != nil && m.Shape.Decode(raw, m.Of(reflect.ValueOf(into).Elem())) == jsoncodec.Exact
}

// writeSection appends a section of a form to scratch, and returns what it has appended.
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

// copySection copies a section of a form to another one.
func copySection(m *jsoncodec.Member, into, from any) {
	m.Of(reflect.ValueOf(into).Elem()).Set(m.Of(reflect.ValueOf(from).Elem()))
}
