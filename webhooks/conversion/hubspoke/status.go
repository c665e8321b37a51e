// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"bytes"
	"maps"
	"unicode/utf8"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// The status of another version is stored in the status, under the name of that version, where only those may
// write who may write the status. It is never taken from an annotation: a user who may write the object may
// write its annotations, and an old copy of the object has old ones.

// carriedStatus is how a status contains that of another version. With digested it has the digest of the
// status around it and is valid only as long as that matches; otherwise an edit of the status around it is
// applied to it.
type carriedStatus struct {
	name     string
	digested bool
}

// split returns the status without the one that it contains, and that one.
func (c carriedStatus) split(status any) (own, carried any, has bool) {
	object, _ := status.(map[string]any)
	carried = object[c.name]
	if carried == nil {
		return status, nil, false
	}
	rest := maps.Clone(object)
	delete(rest, c.name)
	if !c.digested {
		return rest, carried, true
	}
	record, _ := carried.(map[string]any)
	carried = record["status"]
	_, isObject := carried.(map[string]any)
	switch digest, has := record["digest"].(string); {
	case carried == nil || !has || !isObject && len(rest) > 0:
		return status, nil, false // not written by put
	case digest != tree(rest).digest():
		return rest, nil, false
	}
	return rest, carried, true
}

// put returns the status, an object or nil, with the carried one in it.
func (c carriedStatus) put(status, carried any) any {
	object, _ := status.(map[string]any)
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	delete(out, c.name)
	if c.digested {
		carried = map[string]any{"digest": tree(out).digest(), "status": carried}
	}
	out[c.name] = carried
	return out
}

// status returns the status at the target version. It contains the source's where that could not be restored
// from it.
func (d direction[F, T]) status(from any) any {
	own, carried, has := d.targetStatus.split(from)
	if isEmptyStatus(own) && !has {
		return own
	}
	to := d.statusOf(own, carried, has)
	if isEmptyStatus(own) {
		return to
	}
	form := encode(decode[F](tree{"status": own}))["status"]
	again := encode(d.back(decode[T](tree{"status": to})))["status"]
	if covers(form, own) && equal(again, form) {
		return to
	}
	return d.sourceStatus.put(to, own)
}

func (d direction[F, T]) statusOf(own, carried any, has bool) any {
	after := decode[F](tree{"status": own})
	switch {
	case !has:
		return encode(d.forward(after))["status"]
	case d.targetStatus.digested:
		return carried
	}
	saved := tree{"status": carried}
	before := d.back(decode[T](saved))
	if was := encode(before)["status"]; isEmptyStatus(own) && isEmptyStatus(was) || equal(was, own) {
		return carried
	}
	return d.overlaid(saved, before, after, "status")
}

// isEmptyStatus reports whether a status has no values.
func isEmptyStatus(status any) bool {
	object, is := status.(map[string]any)
	for _, value := range object {
		is = is && value == nil
	}
	return status == nil || is
}

// statusParts are the parts of the source's status.
type statusParts struct {
	own     []byte          // without the target's
	carried jsonindex.Value // the target's; none where it carries none
}

// splitStatus splits the status of the source; ok is false where only total can convert it.
func (d direction[F, T]) splitStatus(e envelope) (parts statusParts, ok bool) {
	parts.own = e.body.status.json
	carried := e.body.status.value.Field(d.targetStatus.name)
	if kind := carried.Kind(); kind == 0 || kind == 'n' {
		return parts, true
	}
	if d.targetStatus.digested {
		var written string
		if written, carried, ok = parseCarried(carried); !ok {
			return parts, false
		}
		if parts.own = withoutMember(e.body.status.value, d.targetStatus.name); digest(parts.own) != written {
			return parts, false
		}
	}
	parts.carried = carried
	return parts, hasMembers(carried) && !carried.Field(d.sourceStatus.name).Exists()
}

// parseCarried reads a record that has a digest and a status, and nothing else.
func parseCarried(record jsonindex.Value) (digest string, status jsonindex.Value, ok bool) {
	for name, value := range record.Fields() {
		switch string(name) {
		case "digest":
			digest, ok = value.Text()
		case "status":
			status, ok = value, true
		default:
			ok = false
		}
		if !ok {
			return "", jsonindex.Value{}, false
		}
	}
	return digest, status, record.Len() == 2 && digest != "" && status.Exists()
}

// withoutMember returns an object without one member; nil where no other is left.
func withoutMember(object jsonindex.Value, member string) []byte {
	var written jsonindex.Object
	out := make([]byte, 0, len(object.Bytes()))
	for name, value := range object.Fields() {
		if string(name) != member {
			out = append(written.Name(out, name), value.Bytes()...)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return written.End(out)
}

// fastStatus sets the status of the target's form, and writes it.
func (d direction[F, T]) fastStatus(
	f *typedForms[F, T], e envelope, carried jsonindex.Value, scratch []byte,
) (s section, rest []byte, ok bool) {
	switch {
	case carried.Exists():
		ok = readSection(d.target.status, carried, &f.saved)
		copySection(d.target.status, &f.to, &f.saved)
		return sectionOf(carried), scratch, ok
	case !e.body.status.exists():
		copySection(d.target.status, &f.to, &f.saved) // which is empty
		return section{}, scratch, true
	}
	if s, scratch, ok = writeSection(d.target.status, scratch, &f.to); string(s.json) == "{}" {
		s = section{}
	}
	return s, scratch, ok
}

// fastCarry puts the source's status into the target's where it could not be restored from that; ok is false
// where only total can.
func (d direction[F, T]) fastCarry(f *typedForms[F, T], parts statusParts, to section, scratch []byte) (s section, rest []byte, ok bool) {
	if parts.own == nil || sameSection(d.source.status, &f.again, &f.form) {
		return to, scratch, true
	}
	if d.sourceStatus.digested && (parts.carried.Exists() || !hasOneEncoding(to.json)) {
		return to, scratch, false
	}
	begin := len(scratch)
	if to.exists() {
		scratch = append(append(scratch, to.json[:len(to.json)-1]...), ',')
	} else {
		scratch = append(scratch, '{')
	}
	scratch = append(jsonindex.Quote(scratch, d.sourceStatus.name), ':')
	if d.sourceStatus.digested {
		beside := to.json
		if !to.exists() {
			beside = []byte("{}")
		}
		scratch = append(append(append(scratch, `{"digest":"`...), digest(beside)...), `","status":`...)
		scratch = append(append(scratch, parts.own...), '}', '}')
	} else {
		scratch = append(append(scratch, parts.own...), '}')
	}
	return section{json: scratch[begin:len(scratch):len(scratch)]}, scratch, true
}

// hasOneEncoding reports whether all encoders of JSON write these texts alike, so that there is one digest.
func hasOneEncoding(written []byte) bool {
	return !bytes.ContainsFunc(written, func(r rune) bool { return r == '\\' || r >= utf8.RuneSelf })
}
