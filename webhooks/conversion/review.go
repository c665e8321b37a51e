// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

const (
	reviewKind       = "ConversionReview"
	reviewAPIVersion = "apiextensions.k8s.io/v1"
)

var envelope = wire.Envelope{Kind: reviewKind, APIVersion: reviewAPIVersion, Versions: "the CRD's conversionReviewVersions"}

// review is the request half of a ConversionReview. Its objects are parts of the body.
type review struct {
	uid     string
	desired string
	objects [][]byte // nil for a null among them
}

// parse reads the envelope; the error is a *wire.Refusal.
func parse(body []byte) (review, error) {
	var got review
	if err := envelope.Request(body, got.member); err != nil {
		return review{}, err
	}
	if got.uid == "" {
		return review{}, envelope.WithoutUID()
	}
	return got, nil
}

func (v *review) member(r *wire.Reader, name []byte) (err error) {
	switch string(name) {
	case "uid":
		v.uid, err = r.Text()
	case "desiredAPIVersion":
		v.desired, err = r.Text()
	case "objects":
		err = r.Array(func(r *wire.Reader) error {
			object, err := r.Value()
			v.objects = append(v.objects, object)
			return err
		})
	default:
		err = r.Skip()
	}
	return err
}

// The answer is written by hand, because an encoder would read every converted object once more.

func beginAnswer(out *bytes.Buffer, uid string) {
	out.WriteString(`{"kind":"` + reviewKind + `","apiVersion":"` + reviewAPIVersion + `","response":{"uid":`)
	quote(out, uid)
	out.WriteString(`,"convertedObjects":[`)
}

func endAnswer(out *bytes.Buffer) {
	out.WriteString(`],"result":{"metadata":{},"status":"Success"}}}`)
}

func failAnswer(out *bytes.Buffer, uid, message string) {
	out.Reset()
	beginAnswer(out, uid)
	out.WriteString(`],"result":{"metadata":{},"status":"Failure","message":`)
	quote(out, message)
	out.WriteString(`}}}`)
}

func quote(out *bytes.Buffer, text string) {
	// The only error is invalid UTF-8, which is replaced in what is appended.
	quoted, _ := jsontext.AppendQuote(out.AvailableBuffer(), text)
	out.Write(quoted)
}
