// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// The quick way converts the objects that there usually are: well-formed ones, whose every field
// the types know, and whose view was not edited against a saved form. It reads the bytes once
// into the typed form and leaves metadata as it came. Whatever is out of the ordinary it leaves to
// the other way, through trees, which is total; where both answer, they answer alike, and a fuzz
// test holds them to it.

// quickResult is what result is, in bytes.
type quickResult struct {
	body       sections
	annotation string
	value      []byte // of the restore annotation to set; nil sets none
}

// quick appends the object at another version; it returns false for one that must go the other way.
func (c *Converter) quick(out []byte, object jsonindex.Value, toVersion string) (Converted, bool) {
	e, ok := openEnvelope(object)
	if !ok {
		return Converted{}, false
	}
	convert := c.quickToSpoke
	switch {
	case toVersion == c.hub && e.apiVersion.EqualsText(c.apiVersions[c.spoke]):
		convert = c.quickToHub
	case toVersion != c.spoke || !e.apiVersion.EqualsText(c.apiVersions[c.hub]):
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
	return Converted{Object: e.seal(out, c.apiVersions[toVersion], r), Saved: len(r.value)}, true
}

// forms are those that one conversion makes. They are used again, since new ones would be a good part of
// what it costs.
type forms[F, T any] struct {
	form, again F
	to, saved   T
}

// quick converts what was opened. What it returns is part of scratch, of the source or of the document
// that it was given for what was saved.
func (d direction[F, T]) quick(e envelope, scratch []byte, document *jsonindex.Document) (r quickResult, ok bool) {
	f, ok := d.forms.Get().(*forms[F, T])
	if !ok {
		f = new(forms[F, T])
	}
	r, ok = d.quickly(f, e, scratch, document)
	*f = forms[F, T]{to: f.to}
	d.forms.Put(f) // which a panic leaves to the garbage collector
	return r, ok
}

func (d direction[F, T]) quickly(f *forms[F, T], e envelope, scratch []byte, document *jsonindex.Document) (r quickResult, ok bool) {
	if len(d.bulk) > 0 || e.annotations.get(d.save).Exists() ||
		!readSection(d.source.spec, e.body.spec.value, &f.form) || !readSection(d.source.status, e.body.status.value, &f.form) {
		return r, false
	}
	saved, has, ok := d.saved.open(e, document)
	if !ok || has && (!saved.exists() || !e.body.spec.exists()) {
		return r, false
	}
	parts, ok := d.carried(e)
	if !ok {
		return r, false
	}
	if !has || e.body.status.exists() && !parts.carried.Exists() {
		d.into(f.form, &f.to)
	}
	r = quickResult{annotation: d.save.annotation}
	if r.body.status, scratch, ok = d.quickStatus(f, e, parts.carried, scratch); !ok {
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
	if r.body.status, scratch, ok = d.carry(f, parts, r.body.status, scratch); !ok {
		return r, false
	}
	if d.retoldQuickly(f, e) {
		return r, true
	}
	r.value, ok = d.save.quick(scratch, e, r.body.spec)
	return r, ok
}

func (d direction[F, T]) retoldQuickly(f *forms[F, T], e envelope) bool {
	if !e.body.spec.exists() || sameSection(d.source.spec, &f.again, &f.form) {
		return true
	}
	if !d.whole(&f.form) {
		return false
	}
	d.complete(&f.again)
	d.complete(&f.form)
	return sameSection(d.source.spec, &f.again, &f.form)
}
