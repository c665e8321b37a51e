// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"bytes"
	"unicode/utf8"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// statusParts are the status of the source, taken apart.
type statusParts struct {
	own     []byte          // without the target's
	carried jsonindex.Value // the target's; none where it carries none
}

// carried takes the status of the source apart. It returns not ok for one that the other way has to look at.
func (d direction[F, T]) carried(e envelope) (parts statusParts, ok bool) {
	parts.own = e.body.status.json
	carried := e.body.status.value.Field(d.theirs.name)
	if kind := carried.Kind(); kind == 0 || kind == 'n' {
		return parts, true
	}
	if d.theirs.sealed {
		var seal string
		if seal, carried, ok = unsealed(carried); !ok {
			return parts, false
		}
		if parts.own = without(e.body.status.value, d.theirs.name); digest(parts.own) != seal {
			return parts, false
		}
	}
	parts.carried = carried
	return parts, filled(carried) && !carried.Field(d.ours.name).Exists()
}

// unsealed returns the status in a record that has that and a digest alone.
func unsealed(record jsonindex.Value) (seal string, status jsonindex.Value, ok bool) {
	for name, value := range record.Fields() {
		switch string(name) {
		case "digest":
			seal, ok = value.Text()
		case "status":
			status, ok = value, true
		default:
			ok = false
		}
		if !ok {
			return "", jsonindex.Value{}, false
		}
	}
	return seal, status, record.Len() == 2 && seal != "" && status.Exists()
}

// without is an object less one member; nothing where none is left.
func without(object jsonindex.Value, member string) []byte {
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

// quickStatus makes the status of the target's form, and writes it.
func (d direction[F, T]) quickStatus(f *forms[F, T], e envelope, carried jsonindex.Value, scratch []byte) (s section, rest []byte, ok bool) {
	switch {
	case carried.Exists():
		ok = readSection(d.target.status, carried, &f.saved)
		copySection(d.target.status, &f.to, &f.saved)
		return given(carried), scratch, ok
	case !e.body.status.exists():
		copySection(d.target.status, &f.to, &f.saved) // which is empty
		return section{}, scratch, true
	}
	if s, scratch, ok = writeSection(d.target.status, scratch, &f.to); string(s.json) == "{}" {
		s = section{}
	}
	return s, scratch, ok
}

// carry puts the source's status into the target's, where it could not be made again from that. It
// returns not ok where the other way has to.
func (d direction[F, T]) carry(f *forms[F, T], parts statusParts, to section, scratch []byte) (s section, rest []byte, ok bool) {
	if parts.own == nil || sameSection(d.source.status, &f.again, &f.form) {
		return to, scratch, true
	}
	if d.ours.sealed && (parts.carried.Exists() || !spelledAlike(to.json)) {
		return to, scratch, false
	}
	begin := len(scratch)
	if to.exists() {
		scratch = append(append(scratch, to.json[:len(to.json)-1]...), ',')
	} else {
		scratch = append(scratch, '{')
	}
	scratch = append(jsonindex.Quote(scratch, d.ours.name), ':')
	if d.ours.sealed {
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

// spelledAlike says that all writers of JSON spell the texts in this alike, so that it has one digest.
func spelledAlike(written []byte) bool {
	return !bytes.ContainsFunc(written, func(r rune) bool { return r == '\\' || r >= utf8.RuneSelf })
}
