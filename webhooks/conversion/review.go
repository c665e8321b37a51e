// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

const (
	reviewKind       = "ConversionReview"
	reviewAPIVersion = "apiextensions.k8s.io/v1"
)

// review is the request half of a ConversionReview. Its objects are parts of the body.
type review struct {
	uid     string
	desired string
	objects [][]byte // nil for a null among them
}

// parse reads the envelope; the error is a *wire.Refusal.
func parse(body []byte) (review, error) {
	var (
		got              review
		kind, apiVersion string
		hasRequest       bool
	)
	err := wire.Walk(body, func(r *wire.Reader, name []byte) (err error) {
		switch string(name) {
		case "kind":
			kind, err = r.Text()
		case "apiVersion":
			apiVersion, err = r.Text()
		case "request":
			err = r.Object(func(r *wire.Reader, name []byte) error {
				hasRequest = true
				return got.member(r, name)
			})
		default:
			err = r.Skip()
		}
		return err
	})
	refuse := func(format string, args ...any) (review, error) {
		return review{}, wire.Refuse(http.StatusBadRequest, format, args...)
	}
	switch {
	case err != nil:
		return refuse("the body is not a %s: %v", reviewKind, err)
	case kind != reviewKind:
		return refuse("the body is of kind %.100q: a %s was expected", kind, reviewKind)
	case apiVersion != reviewAPIVersion:
		return refuse("a %s of apiVersion %.100q is not understood; put v1 into the CRD's conversionReviewVersions", reviewKind, apiVersion)
	case !hasRequest:
		return refuse("the %s has no request", reviewKind)
	case got.uid == "":
		return refuse("the %s has no request.uid", reviewKind)
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
