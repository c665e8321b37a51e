// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import "sync"

// source is the spec and the status of an object, and its annotations.
type source struct {
	body        tree
	annotations map[string]string
}

// result is the converted body, and the restore annotation to set; an empty value sets none. Both restore
// annotations of the source are removed in any case.
type result struct {
	body       tree
	annotation string
	value      string
	wanted     int // bytes of the annotation in full, also where it did not fit
}

// direction converts from form F to form T of a pair.
type direction[F, T any] struct {
	forward      func(F) T
	into         func(from F, into *T) // forward, into a form that is reused
	back         func(T) F
	overlay      func(saved T, before, after F) T
	complete     func(*F) // for comparisons
	exact        bool     // the source is the hub, to which back may add nothing
	believes     bool     // the digest of a saved form says that its view was not edited
	hasImplied   func(*F) bool
	saved        restoreKey    // read from the source: the target's saved form
	save         restoreKey    // written to the target: the source's saved form
	targetStatus carriedStatus // of the target's status, in the source's
	sourceStatus carriedStatus // of the source's status, in the target's
	bulk         []bulkPath

	source typed[F]
	target typed[T]
	pool   *sync.Pool // of *typedForms[F, T]
}

// bulkPath names a heavy part in the source's and in the target's form.
type bulkPath struct{ from, to []string }

// convert converts the spec and the status. Other parts, which no version has, stay as they are.
func (d direction[F, T]) convert(s source) result {
	rest, status := s.body.shallow(), s.body["status"]
	s.body = tree{}
	s.body.set("spec", rest["spec"])
	out := result{body: d.restored(s), annotation: d.save.annotation}
	if lost, some := d.lost(s.body, out.body); some {
		out.value, out.wanted = d.save.encode(s, lost, out.body, d.bulk)
	}
	if missing := Dropped(s.annotations[d.saved.annotation]); missing > 0 && out.value == "" {
		// What the view did not have is missing in the target as well, and admission must know.
		out.value = encodeDropped(missing, d.save.space(s.annotations)+margin)
	}
	rest.set("spec", out.body["spec"])
	rest.set("status", d.status(status))
	out.body = rest
	return out
}

// restored returns the spec at the target version: the saved one with any edit of the source, or else the
// plain mapping. The digest of a saved spoke form is not believed, since a writer of the hub may forge it: the view would
// say what the object does not do, and an edit of the view by another user would do it with the rights of that user.
func (d direction[F, T]) restored(s source) tree {
	saved, ok := d.saved.decode(s, d.bulk)
	switch {
	case !ok:
		return d.plain(s.body)
	case d.believes && saved.Digest == s.body.digest():
		return saved.body
	}
	return d.merge(saved.body, s.body)
}

// plain maps without a saved form. A spec that the source does not have stays absent: server-side apply
// converts objects of type and name alone, and must not find fields in them that were not set
// (kubernetes/kubernetes#117356).
func (d direction[F, T]) plain(from tree) tree {
	if from["spec"] == nil {
		return tree{}
	}
	return encode(d.forward(decode[F](from)))
}

// merge returns a saved spec unchanged where its view was not edited, or else the overlay, with the saved
// fields that its type does not know.
func (d direction[F, T]) merge(saved, edited tree) tree {
	before, after := d.back(decode[T](saved)), decode[F](edited)
	if equal(encode(before)["spec"], encode(after)["spec"]) {
		return saved
	}
	out := saved.shallow()
	out.set("spec", d.overlaid(saved, before, after, "spec"))
	return out
}

// overlaid returns a part of the saved form with the edit of its view.
func (d direction[F, T]) overlaid(saved tree, before, after F, part string) any {
	typed := encode(decode[T](saved))
	overlaid := encode(d.overlay(decode[T](saved), before, after))
	return keepUnknown(overlaid[part], saved[part], typed[part])
}

// lost returns the parts of the source that cannot be restored from the target and the defaults, and whether
// there are any. A spec that the target expresses in full is not one; where even its absence would be lost,
// the whole source is returned.
func (d direction[F, T]) lost(from, to tree) (lost tree, some bool) {
	spec, had := from["spec"]
	_, has := to["spec"]
	lost = from.shallow()
	switch {
	case had && d.restorable(from, to, spec):
		delete(lost, "spec")
	case !had && has && encode(d.back(decode[T](to)))["spec"] != nil:
		return from, true
	}
	return lost, len(lost) > 0
}

func (d direction[F, T]) restorable(from, to tree, spec any) bool {
	form := decode[F](from)
	if !covers(encode(form)["spec"], spec) {
		return false
	}
	again := d.back(decode[T](to))
	if d.exact && !covers(encode(form)["spec"], encode(again)["spec"]) {
		return false // back would add something
	}
	d.complete(&again)
	d.complete(&form)
	return equal(encode(again)["spec"], encode(form)["spec"])
}
