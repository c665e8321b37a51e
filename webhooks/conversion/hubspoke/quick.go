// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"bytes"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// The quick way converts the objects that there usually are: well-formed ones, whose every field
// the types know, and whose view nobody has edited against a saved form. It reads the bytes once
// into the typed form and leaves metadata as it came. Whatever is out of the ordinary it leaves to
// the other way, through trees, which is total; where both answer, they answer alike, and a fuzz
// test holds them to it.

// quickResult is what result is, in bytes.
type quickResult struct {
	body       sections
	annotation string
	value      string // of the restore annotation to set; empty sets none
}

// sections are the parts of a body as JSON; nil where absent.
type sections struct{ spec, status []byte }

// quick answers false for an object that must go the other way.
func (c *Converter) quick(raw []byte, toVersion string) ([]byte, bool) {
	e, ok := openEnvelope(raw)
	if !ok {
		return nil, false
	}
	convert := c.quickToSpoke
	switch {
	case e.apiVersion == c.apiVersions[c.spoke] && toVersion == c.hub:
		convert = c.quickToHub
	case e.apiVersion != c.apiVersions[c.hub] || toVersion != c.spoke:
		return nil, false
	}
	r, ok := convert(e)
	if !ok {
		return nil, false
	}
	return e.seal(c.apiVersions[toVersion], r), true
}

// quick converts what was opened.
func (d direction[F, T]) quick(e envelope) (quickResult, bool) {
	if len(d.bulk) > 0 || e.has(d.save.annotation) {
		return quickResult{}, false
	}
	form, encoded, ok := decodeExactly[F](e.body)
	if !ok {
		return quickResult{}, false
	}
	body, to, ok := d.quickTarget(e, form)
	if !ok {
		return quickResult{}, false
	}
	out := quickResult{body: body, annotation: d.save.annotation}
	again, ok := encodeSections(d.back(to))
	if !ok || e.body.spec == nil && body.spec != nil && again.spec != nil ||
		e.body.status == nil && body.status != nil && again.status != nil {
		return quickResult{}, false
	}
	lost := e.body.less(again, encoded)
	if lost.any() {
		wanted, ok := d.normalized(e.body)
		if !ok {
			return quickResult{}, false
		}
		lost = lost.less(again, wanted)
	}
	if !lost.any() {
		return out, true
	}
	out.value, ok = d.save.quick(e, lost, body)
	return out, ok
}

// quickTarget answers the target body and its form: mapped from the source's form, but for what
// the source carries saved, where it was not edited since.
func (d direction[F, T]) quickTarget(e envelope, form F) (body sections, to T, ok bool) {
	text, has := e.annotations[d.saved.annotation]
	var r record
	if has {
		if json.Unmarshal([]byte(text), &r) != nil || r.Bulk != 0 || r.Digest != e.body.digest() {
			return body, to, false
		}
		if body, ok = splitSections(*d.saved.form(&r)); !ok {
			return body, to, false
		}
	}
	if has && !r.Partial {
		to, _, ok = decodeExactly[T](body)
		return body, to, ok
	}
	to = d.forward(form)
	plain, ok := encodeSections(to)
	if !ok {
		return body, to, false
	}
	if body.spec == nil && e.body.spec != nil {
		body.spec = plain.spec
	}
	if body.status == nil && e.body.status != nil {
		body.status = plain.status
	}
	if has {
		to, _, ok = decodeExactly[T](body)
	}
	return body, to, ok
}

// normalized encodes the source after its implied defaults were made explicit.
func (d direction[F, T]) normalized(source sections) (sections, bool) {
	var form F // once more: forward owned the other
	if jsonv2.Unmarshal(source.join(), &form, strict) != nil {
		return sections{}, false
	}
	return encodeSections(d.normalize(form))
}

// less answers the sections without those in which two encodings of their type agree.
func (s sections) less(one, other sections) sections {
	if bytes.Equal(one.spec, other.spec) {
		s.spec = nil
	}
	if bytes.Equal(one.status, other.status) {
		s.status = nil
	}
	return s
}

func (s sections) any() bool { return s.spec != nil || s.status != nil }

// quick writes the annotation that saves what would be lost of the source, where all of it fits.
func (k restoreKey) quick(e envelope, lost, target sections) (string, bool) {
	r := record{Digest: target.digest(), Partial: lost.spec == nil && e.body.spec != nil || lost.status == nil && e.body.status != nil}
	*k.form(&r) = lost.join()
	value := marshal(r)
	return string(value), len(value) > 0 && len(value) <= k.room(e.annotations)
}

// digest is that of the tree.
func (s sections) digest() string { return digest(s.join()) }

// join writes the sections as one object.
func (s sections) join() []byte {
	out := make([]byte, 0, len(s.spec)+len(s.status)+len(`{"spec":,"status":}`))
	out = append(out, '{')
	if s.spec != nil {
		out = append(append(out, `"spec":`...), s.spec...)
	}
	if s.status != nil {
		if s.spec != nil {
			out = append(out, ',')
		}
		out = append(append(out, `"status":`...), s.status...)
	}
	return append(out, '}')
}

// splitSections takes a body apart; it answers false where it holds anything else.
func splitSections(body []byte) (sections, bool) {
	members, err := wire.Members(body)
	if err != nil {
		return sections{}, false
	}
	var s sections
	for _, m := range members {
		switch {
		case m.Name == "spec" && s.spec == nil:
			s.spec = m.Value
		case m.Name == "status" && s.status == nil:
			s.status = m.Value
		default:
			return sections{}, false
		}
	}
	return s, true
}

var strict = jsonv2.RejectUnknownMembers(true)

// likeV1 writes as encoding/json does, whose meaning of omitempty the API types rely on.
var likeV1 = jsonv2.JoinOptions(
	jsonv1.OmitEmptyWithLegacySemantics(true),
	jsonv2.FormatNilSliceAsNull(true),
	jsonv2.FormatNilMapAsNull(true),
	jsonv2.Deterministic(true),
)

// decodeExactly reads a body of which the type loses nothing, and answers its encoding as well.
func decodeExactly[F any](body sections) (form F, encoded sections, ok bool) {
	if jsonv2.Unmarshal(body.join(), &form, strict) != nil {
		return form, encoded, false
	}
	if encoded, ok = encodeSections(form); !ok {
		return form, encoded, false
	}
	ok = (body.spec == nil || fingerprint(body.spec) == fingerprint(encoded.spec)) &&
		(body.status == nil || fingerprint(body.status) == fingerprint(encoded.status))
	return form, encoded, ok
}

// encodeSections writes a form; an empty status is as good as none.
func encodeSections[F any](form F) (sections, bool) {
	raw, err := jsonv2.Marshal(form, likeV1)
	if err != nil || bytes.Contains(raw, []byte(":null")) { // nulls are left out, but not here
		return sections{}, false
	}
	s, ok := splitSections(raw)
	if bytes.Equal(s.status, []byte("{}")) {
		s.status = nil
	}
	return s, ok
}
