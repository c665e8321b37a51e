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
	forward   func(F) T
	into      func(from F, into *T) // forward, into a form that it has filled before
	back      func(T) F
	normalize func(form, implied F) F
	overlay   func(saved T, before, after F) T
	saved     restoreKey // read from the source: the target's saved form
	save      restoreKey // written to the target: the source's saved form
	bulk      []bulkPath

	source form[F]
	target form[T]
	forms  *sync.Pool // of *forms[F, T]
}

// bulkPath names a heavy part in the source's and in the target's form.
type bulkPath struct{ from, to []string }

func (d direction[F, T]) convert(s source) result {
	out := result{body: d.restored(s), annotation: d.save.annotation}
	if lost, some := d.lost(s.body, out.body); some {
		out.value, out.wanted = d.save.encode(s, lost, out.body, d.bulk)
	}
	return out
}

// restored answers the body at the target version: the saved one where there is one, with any edit
// of the source laid over it, or else the plain mapping.
func (d direction[F, T]) restored(s source) tree {
	saved, ok := d.saved.decode(s, d.bulk)
	if !ok {
		return d.plain(s.body)
	}
	if saved.Partial {
		plain := d.plain(s.body)
		for _, part := range parts {
			if _, has := saved.body[part]; !has && plain[part] != nil {
				saved.body[part] = plain[part]
			}
		}
	}
	if saved.Digest == s.body.digest() {
		return saved.body
	}
	return d.merge(saved.body, s.body)
}

// plain maps without any saved form. A part that the source lacks stays away: server-side apply
// converts objects of type and name alone, and must not find fields in them that nobody set
// (kubernetes/kubernetes#117356).
func (d direction[F, T]) plain(from tree) tree {
	to := encode(d.forward(decode[F](from)))
	for _, part := range parts {
		if _, has := from[part]; !has {
			delete(to, part)
		}
	}
	return to
}

// merge keeps each part of the saved body whose view was not edited as it is, and takes each
// edited part from the overlay, with the saved content that its type does not know beside it.
func (d direction[F, T]) merge(saved, edited tree) tree {
	before, after := d.back(decode[T](saved)), d.explicit(edited)
	beforeBody, afterBody := encode(before), encode(after)
	var overlaid, typed tree
	out := saved.shallow()
	for _, part := range parts {
		if equal(beforeBody[part], afterBody[part]) {
			continue
		}
		if overlaid == nil {
			typed = encode(decode[T](saved))
			overlaid = encode(d.overlay(decode[T](saved), before, after))
		}
		out.set(part, keepUnknown(overlaid[part], saved[part], typed[part]))
	}
	return out
}

// explicit answers the form of a body with its implied defaults.
func (d direction[F, T]) explicit(body tree) F {
	return d.normalize(decode[F](body), d.back(d.forward(decode[F](body))))
}

// lost answers what of the source cannot be made again from the target alone, but for defaults that
// were implied and now stand explicitly, and whether that is anything. A section that the target
// tells in full stays out; where even the absence of one would be lost, the whole source is the
// answer.
func (d direction[F, T]) lost(from, to tree) (lost tree, some bool) {
	known := encode(decode[F](from))
	again, wanted := encode(d.back(decode[T](to))), encode(d.explicit(from))
	lost = from.shallow()
	for _, part := range parts {
		_, had := from[part]
		_, has := to[part]
		switch {
		case had && covers(known[part], from[part]) && equal(again[part], wanted[part]):
			delete(lost, part)
		case !had && has && again[part] != nil:
			return from, true
		}
	}
	return lost, len(lost) > 0
}
