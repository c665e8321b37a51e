// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// open reads the saved spec of the target into the document; has is false where there is none. It
// returns not ok where that is not plain to see, or where the view was edited since.
func (k restoreKey) open(e envelope, into *jsonindex.Document) (spec section, has, ok bool) {
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

// quick appends the annotation that saves the spec of the source, and returns it, where all of it fits.
func (k restoreKey) quick(scratch []byte, e envelope, target section) ([]byte, bool) {
	begin := len(scratch)
	out := append(append(append(scratch, `{"digest":"`...), sections{spec: target}.digest()...), '"')
	out = append(append(append(out, `,"`...), k.form...), `":{"spec":`...)
	out = append(append(out, e.body.spec.json...), '}', '}')
	value := out[begin:]
	return value, len(value)+len(k.annotation)+e.annotations.size <= MaxAnnotations
}
