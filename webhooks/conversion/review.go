// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

const (
	reviewKind       = "ConversionReview"
	reviewAPIVersion = "apiextensions.k8s.io/v1"
)

var envelope = review.Envelope{Kind: reviewKind, APIVersion: reviewAPIVersion, Versions: "the CRD's conversionReviewVersions"}

// request is the request half of a ConversionReview. Its objects are parts of the body.
type request struct {
	uid     string
	desired string
	objects []jsonindex.Value
}

// parse reads the envelope into the document; the error is a *review.Refusal.
func parse(into *jsonindex.Document, body []byte) (request, error) {
	var got request
	if err := envelope.Request(into, body, got.member); err != nil {
		return request{}, err
	}
	if got.uid == "" {
		return request{}, envelope.WithoutUID()
	}
	return got, nil
}

func (r *request) member(name []byte, value jsonindex.Value) (err error) {
	switch string(name) {
	case "uid":
		r.uid, err = review.String(value)
	case "desiredAPIVersion":
		r.desired, err = review.String(value)
	case "objects":
		r.objects = make([]jsonindex.Value, 0, value.Len())
		err = review.Items(value, func(object jsonindex.Value) error {
			r.objects = append(r.objects, object)
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
