// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import "sync"

// source is an object without its type and metadata.
type source struct {
	body        tree
	annotations map[string]string
}

// result is the converted body, and the restore annotation to set; an empty value sets none.
// Both restore annotations of the source are spent in any case.
type result struct {
	body       tree
	annotation string
	value      string
	wanted     int // bytes of the annotation in full, also where it did not fit
}

// direction is one way through a pair, from form F to form T.
type direction[F, T any] struct {
	forward  func(F) T
	into     func(from F, into *T) // forward, into a form that it has filled before
	back     func(T) F
	overlay  func(saved T, before, after F) T
	complete func(*F) // for comparisons
	exact    bool     // the source is the hub, to which the way back may add nothing
	whole    func(*F) bool
	saved    restoreKey // read from the source: the target's saved form
	save     restoreKey // written to the target: the source's saved form
	theirs   carriage   // of the target's status, in the source's
	ours     carriage   // of the source's status, in the target's
	bulk     []bulkPath

	source form[F]
	target form[T]
	forms  *sync.Pool // of *forms[F, T]
}

// bulkPath names a heavy part in the source's and in the target's form.
type bulkPath struct{ from, to []string }

func (d direction[F, T]) convert(s source) result {
	status := s.body["status"]
	s.body = s.body.without([]string{"status"})
	out := result{body: d.restored(s), annotation: d.save.annotation}
	if lost, some := d.lost(s.body, out.body); some {
		out.value, out.wanted = d.save.encode(s, lost, out.body, d.bulk)
	}
	if missing := Dropped(s.annotations[d.saved.annotation]); missing > 0 && out.value == "" {
		// What the view never had is missing in the target as well, and admission is to know.
		out.value = droppedNote(missing, d.save.room(s.annotations)+margin)
	}
	out.body.set("status", d.status(status))
	return out
}

// restored returns the body at the target version: the saved one where there is one, with any edit
// of the source laid over it, or else the plain mapping.
func (d direction[F, T]) restored(s source) tree {
	saved, ok := d.saved.decode(s, d.bulk)
	if !ok {
		return d.plain(s.body)
	}
	if _, has := saved.body["spec"]; saved.Partial && !has {
		saved.body.set("spec", d.plain(s.body)["spec"])
	}
	if saved.Digest == s.body.digest() {
		return saved.body
	}
	return d.merge(saved.body, s.body)
}

// plain maps without any saved form. A spec that the source lacks stays away: server-side apply
// converts objects of type and name alone, and must not find fields in them that were not set
// (kubernetes/kubernetes#117356).
func (d direction[F, T]) plain(from tree) tree {
	if from["spec"] == nil {
		return tree{}
	}
	return encode(d.forward(decode[F](from)))
}

// merge keeps a saved spec whose view was not edited as it is, and takes an edited one from the
// overlay, with the saved content that its type does not know beside it.
func (d direction[F, T]) merge(saved, edited tree) tree {
	before, after := d.back(decode[T](saved)), decode[F](edited)
	if equal(encode(before)["spec"], encode(after)["spec"]) {
		return saved
	}
	out := saved.shallow()
	out.set("spec", d.overlaid(saved, before, after, "spec"))
	return out
}

// overlaid returns a part of the saved form with the edit of its view laid over it.
func (d direction[F, T]) overlaid(saved tree, before, after F, part string) any {
	typed := encode(decode[T](saved))
	overlaid := encode(d.overlay(decode[T](saved), before, after))
	return keepUnknown(overlaid[part], saved[part], typed[part])
}

// lost returns what of the source cannot be made again from the target alone, but for what the
// defaults say as well, and whether that is anything. A spec that the target tells in full stays
// out; where even its absence would be lost, the whole source is returned.
func (d direction[F, T]) lost(from, to tree) (lost tree, some bool) {
	spec, had := from["spec"]
	_, has := to["spec"]
	lost = from.shallow()
	switch {
	case had && d.retold(from, to, spec):
		delete(lost, "spec")
	case !had && has && encode(d.back(decode[T](to)))["spec"] != nil:
		return from, true
	}
	return lost, len(lost) > 0
}

func (d direction[F, T]) retold(from, to tree, spec any) bool {
	form := decode[F](from)
	if !covers(encode(form)["spec"], spec) {
		return false
	}
	again := d.back(decode[T](to))
	if d.exact && !covers(encode(form)["spec"], encode(again)["spec"]) {
		return false // the way back would add something
	}
	d.complete(&again)
	d.complete(&form)
	return equal(encode(again)["spec"], encode(form)["spec"])
}
