// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	kjson "sigs.k8s.io/json"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// MaxAnnotations bounds all annotations of an object together, in bytes, where a restore annotation is among
// them: the API server's limit
// (k8s.io/apimachinery/pkg/api/validation, TotalAnnotationSizeLimitB), less a margin for other
// writers.
const MaxAnnotations = apivalidation.TotalAnnotationSizeLimitB - margin

const margin = 4 << 10

// restoreKey is one of the two restore annotations.
type restoreKey struct {
	annotation string
	form       string // the name of the saved form in the record
}

var (
	hubData   = restoreKey{common.ConversionDataAnnotation, "hub"}
	spokeData = restoreKey{common.V1Alpha1DataAnnotation, "spoke"}
)

// record is the value of a restore annotation.
type record struct {
	// Digest of the body of the object that has the annotation, as it was written. As long as it matches, the
	// view was not edited.
	Digest string `json:"digest"`
	// Bulk has a bit for each entry of Pair.Bulk that was left out of the form.
	Bulk uint64 `json:"bulk,omitempty"`
	// Dropped is the size of the annotation in full, in bytes, where it did not fit. Then it has nothing else,
	// and shows admission that something is missing.
	Dropped int `json:"dropped,omitempty"`

	Hub   json.RawMessage `json:"hub,omitempty"`
	Spoke json.RawMessage `json:"spoke,omitempty"`
}

// of returns the form that is saved under the key.
func (r *record) of(k restoreKey) *json.RawMessage {
	if k == hubData {
		return &r.Hub
	}
	return &r.Spoke
}

// saved is a decoded record, with its bulk.
type saved struct {
	record
	body tree
}

// decode reads the saved form of the target from the source. Of what a user has written there, it takes the spec
// alone. One that is corrupt, has no spec, or that an API server could not read counts as absent.
func (k restoreKey) decode(s source, bulk []bulkPath) (saved, bool) {
	var out saved
	value, has := s.annotations[k.annotation]
	if !has || !readable(value) || kjson.UnmarshalCaseSensitivePreserveInts([]byte(value), &out.record) != nil {
		return out, false
	}
	form, err := parseTree(*out.of(k))
	if err != nil {
		return out, false
	}
	out.body = tree{}
	if out.body.set("spec", form["spec"]); form["spec"] == nil && len(form) > 0 {
		return out, false // earlier versions saved other parts alone
	}
	for i, b := range bulk {
		if out.Bulk&(1<<i) == 0 {
			continue
		}
		if part, has := s.body.at(b.from); has {
			out.body = out.body.with(b.to, part)
		}
	}
	return out, true
}

// encode returns the annotation that saves the lost parts of the source, or that of encodeDropped where it does
// not fit; wanted is its size in full, in bytes.
func (k restoreKey) encode(s source, lost, target tree, bulk []bulkPath) (annotation string, wanted int) {
	r := record{Digest: target.digest()}
	for i, b := range bulk {
		mine, has := lost.at(b.from)
		if theirs, also := target.at(b.to); has && also && equal(mine, theirs) {
			lost = lost.without(b.from)
			r.Bulk |= 1 << i
		}
	}
	*r.of(k) = marshal(lost)
	value := marshal(r)
	if space := k.space(s.annotations); len(value) > space {
		return encodeDropped(len(value), space+margin), len(value)
	}
	return string(value), len(value)
}

// encodeDropped returns an annotation that says that so many bytes did not fit; empty where it does not fit
// itself.
func encodeDropped(bytes, space int) string {
	if note := marshal(record{Dropped: bytes}); len(note) <= space {
		return string(note)
	}
	return ""
}

// maxSavedDepth bounds how deep a restore annotation is nested, which no spec of a kind comes near. An object that is
// nested as deep as a parser allows cannot be read within a ConversionReview.
const maxSavedDepth = 1_000

// readable reports whether an API server can read what the JSON in an annotation holds, as a part of an object: it
// refuses the whole response for a number that no float holds.
func readable(annotation string) bool {
	var value any
	return kjson.UnmarshalCaseSensitivePreserveInts([]byte(annotation), &value) == nil && !isDeeper(value, maxSavedDepth)
}

// isDeeper reports whether a value is nested more than so many times.
func isDeeper(value any, levels int) bool {
	deeper := func(part any) bool { return isDeeper(part, levels-1) }
	switch value := value.(type) {
	case map[string]any:
		return levels == 0 || slices.ContainsFunc(slices.Collect(maps.Values(value)), deeper)
	case []any:
		return levels == 0 || slices.ContainsFunc(value, deeper)
	}
	return false
}

// Dropped returns how many bytes a restore annotation says that it lacks; 0 for none.
func Dropped(annotation string) int {
	var r record
	if annotation == "" || kjson.UnmarshalCaseSensitivePreserveInts([]byte(annotation), &r) != nil {
		return 0
	}
	return r.Dropped
}

// space returns how many bytes the other annotations leave.
func (k restoreKey) space(annotations map[string]string) int {
	space := MaxAnnotations - len(k.annotation)
	for key, value := range annotations {
		if key != common.ConversionDataAnnotation && key != common.V1Alpha1DataAnnotation {
			space -= len(key) + len(value)
		}
	}
	return space
}

// fastDecode reads the saved spec of the target into the document; has is false where there is none, and ok
// where only decode can read it, or the view was edited.
func (k restoreKey) fastDecode(e envelope, into *jsonindex.Document) (spec section, has, ok bool) {
	quoted := e.annotations.get(k)
	if !quoted.Exists() {
		return spec, false, true
	}
	text, err := jsontext.AppendUnquote(make([]byte, 0, len(quoted.Bytes())), quoted.Bytes())
	if err != nil {
		return spec, true, false
	}
	saved, err := into.Read(text)
	if err != nil {
		return spec, true, false
	}
	var digest string
	for name, value := range saved.Fields() {
		switch string(name) {
		case "digest":
			digest, ok = value.Text()
		case k.form:
			spec, ok = savedSpec(value)
		default:
			ok = false // such as bulk
		}
		if !ok {
			return spec, true, false
		}
	}
	return spec, true, digest == e.body.digest()
}

// fastEncode appends the annotation that saves the spec of the source to scratch and returns it; false where it
// does not fit.
func (k restoreKey) fastEncode(scratch []byte, e envelope, target section) ([]byte, bool) {
	begin := len(scratch)
	out := append(append(append(scratch, `{"digest":"`...), sections{spec: target}.digest()...), '"')
	out = append(append(append(out, `,"`...), k.form...), `":{"spec":`...)
	out = append(append(out, e.body.spec.json...), '}', '}')
	value := out[begin:]
	return value, len(value)+len(k.annotation)+e.annotations.size <= MaxAnnotations
}
