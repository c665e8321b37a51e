// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// opened is a record that was read back in the quick way.
type opened struct {
	body    sections
	partial bool
}

// open reads the saved form of the target into the document; has is false where there is none. It
// answers not ok where that is not plain to see, or where the view was edited since.
func (k restoreKey) open(e envelope, into *wire.Document) (o opened, has, ok bool) {
	quoted := e.annotations.get(k)
	if !quoted.Exists() {
		return o, false, true
	}
	text, err := jsontext.AppendUnquote(make([]byte, 0, len(quoted.Bytes())), quoted.Bytes())
	if err != nil {
		return o, true, false
	}
	saved, err := into.Read(text)
	if err != nil {
		return o, true, false
	}
	var digest string
	for name, value := range saved.Fields() {
		switch string(name) {
		case "digest":
			digest, ok = value.Text()
		case "partial":
			o.partial = value.Kind() == 't'
			ok = o.partial || value.Kind() == 'f'
		case k.form:
			o.body, ok = split(value)
		default:
			ok = false // such as bulk
		}
		if !ok {
			return o, true, false
		}
	}
	return o, true, o.body.any() && digest == e.body.digest()
}

// quick appends the annotation that saves what would be lost of the source, and answers it, where
// all of it fits.
func (k restoreKey) quick(scratch []byte, e envelope, lost, target sections) ([]byte, bool) {
	begin := len(scratch)
	out := append(append(append(scratch, `{"digest":"`...), target.digest()...), '"')
	if !lost.spec.exists() && e.body.spec.exists() || !lost.status.exists() && e.body.status.exists() {
		out = strconv.AppendBool(append(out, `,"partial":`...), true)
	}
	out = append(append(append(out, `,"`...), k.form...), `":`...)
	out = append(lost.append(out), '}')
	value := out[begin:]
	return value, len(value)+len(k.annotation)+e.annotations.size <= maxAnnotations
}
