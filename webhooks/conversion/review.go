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
	objects []wire.Value
}

// parse reads the envelope into the document; the error is a *wire.Refusal.
func parse(into *wire.Document, body []byte) (review, error) {
	var got review
	if err := envelope.Request(into, body, got.member); err != nil {
		return review{}, err
	}
	if got.uid == "" {
		return review{}, envelope.WithoutUID()
	}
	return got, nil
}

func (v *review) member(name []byte, value wire.Value) (err error) {
	switch string(name) {
	case "uid":
		v.uid, err = wire.String(value)
	case "desiredAPIVersion":
		v.desired, err = wire.String(value)
	case "objects":
		v.objects = make([]wire.Value, 0, value.Len())
		err = wire.Items(value, func(object wire.Value) error {
			v.objects = append(v.objects, object)
			return nil
		})
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
