// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import "github.com/fairlead-dev/fairlead/webhooks/internal/wire"

// The quick way converts the objects that there usually are: well-formed ones, whose every field
// the types know, and whose view nobody has edited against a saved form. It reads the bytes once
// into the typed form and leaves metadata as it came. Whatever is out of the ordinary it leaves to
// the other way, through trees, which is total; where both answer, they answer alike, and a fuzz
// test holds them to it.

// quickResult is what result is, in bytes.
type quickResult struct {
	body       sections
	annotation string
	value      []byte // of the restore annotation to set; nil sets none
}

// quick appends the object at another version; it answers false for one that must go the other way.
func (c *Converter) quick(out []byte, object wire.Value, toVersion string) (Converted, bool) {
	e, ok := openEnvelope(object)
	if !ok {
		return Converted{}, false
	}
	convert := c.quickToSpoke
	switch {
	case toVersion == c.hub && e.apiVersion.Says(c.apiVersions[c.spoke]):
		convert = c.quickToHub
	case toVersion != c.spoke || !e.apiVersion.Says(c.apiVersions[c.hub]):
		return Converted{}, false
	}
	scratch, saved := wire.Buffer(), wire.NewDocument()
	defer wire.Release(scratch)
	defer saved.Release()
	scratch.Grow(4 * len(object.Bytes()))
	r, ok := convert(e, scratch.AvailableBuffer(), saved)
	if !ok {
		return Converted{}, false
	}
	return Converted{Object: e.seal(out, c.apiVersions[toVersion], r), Saved: len(r.value)}, true
}

// forms are those that one conversion makes. They are used again, since new ones would be a good part of
// what it costs.
type forms[F, T any] struct {
	form, again, wanted F
	to, restored        T
}

// quick converts what was opened. What it answers is part of scratch, of the source or of the document
// that it was given for what was saved.
func (d direction[F, T]) quick(e envelope, scratch []byte, document *wire.Document) (r quickResult, ok bool) {
	f, ok := d.forms.Get().(*forms[F, T])
	if !ok {
		f = new(forms[F, T])
	}
	r, ok = d.quickly(f, e, scratch, document)
	*f = forms[F, T]{to: f.to}
	d.forms.Put(f) // which a panic leaves to the garbage collector
	return r, ok
}

func (d direction[F, T]) quickly(f *forms[F, T], e envelope, scratch []byte, document *wire.Document) (r quickResult, ok bool) {
	if len(d.bulk) > 0 || e.annotations.get(d.save).Exists() || !d.source.read(e.body, &f.form, &f.form) {
		return r, false
	}
	saved, has, ok := d.saved.open(e, document)
	if !ok {
		return r, false
	}
	r = quickResult{body: saved.body, annotation: d.save.annotation}
	to := &f.to
	if !has || saved.partial {
		d.into(f.form, to)
		plain, rest, ok := d.target.write(scratch, to)
		if !ok {
			return r, false
		}
		r.body, scratch = saved.body.or(plain, e.body), rest
	}
	if has {
		if !d.target.read(r.body, &f.restored, to) {
			return r, false
		}
		to = &f.restored
	}
	f.again = d.back(*to)
	if d.invented(scratch, e.body, r.body, &f.again) {
		return r, false
	}
	lost := d.source.changed(e.body, &f.again, &f.form)
	if lost.any() {
		f.wanted = d.normalize(f.form, d.implied(f.form, f.again, has))
		lost = d.source.changed(lost, &f.again, &f.wanted)
	}
	if lost.any() {
		r.value, ok = d.save.quick(scratch, e, lost, r.body)
		return r, ok
	}
	return r, true
}

// invented says that the way back brings a section that the source does not have. Where even an
// absence would be lost, the other way has to see to it.
func (d direction[F, T]) invented(scratch []byte, source, target sections, again *F) bool {
	if !source.spec.exists() && target.spec.exists() {
		return true
	}
	if source.status.exists() || !target.status.exists() {
		return false
	}
	brought, _, ok := d.source.write(scratch, again)
	return !ok || brought.status.exists()
}

// implied is the view of a form in which its implied defaults are explicit; again is that where
// nothing was saved.
func (d direction[F, T]) implied(form, again F, saved bool) F {
	if !saved {
		return again
	}
	return d.back(d.forward(form))
}

// or takes the sections that the source has and that were not saved from the plain ones.
func (s sections) or(plain, source sections) sections {
	if !s.spec.exists() && source.spec.exists() {
		s.spec = plain.spec
	}
	if !s.status.exists() && source.status.exists() {
		s.status = plain.status
	}
	return s
}
