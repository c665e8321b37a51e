// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// firstRead is the initial size of the read buffer, in bytes. Most reviews fit into it.
const firstRead = 8 << 10

// ReadBody returns the body of a review: a POST of JSON, not empty, at most limit bytes. The error is a *Refusal.
func ReadBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Method != http.MethodPost {
		return nil, Refuse(http.StatusMethodNotAllowed, "a review is sent by POST, not by %s", r.Method)
	}
	if media := r.Header.Get("Content-Type"); !isJSON(media) {
		return nil, Refuse(http.StatusUnsupportedMediaType, "a review has the content type application/json, not %.100q", media)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, Refuse(http.StatusUnsupportedMediaType, "a review is sent uncompressed, not with content encoding %.100q", coding)
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if r.Body == nil {
		return nil, Refuse(http.StatusBadRequest, "the body is empty: a review was expected")
	}
	var into bytes.Buffer
	if err := fill(&into, http.MaxBytesReader(nil, r.Body, limit), r.ContentLength, limit); err != nil {
		var (
			over    *http.MaxBytesError
			refusal *Refusal
		)
		switch {
		case errors.As(err, &over):
			return nil, tooLarge(limit)
		case errors.As(err, &refusal):
			return nil, refusal // the server's own, such as for a body that comes too slowly
		}
		return nil, Refuse(http.StatusBadRequest, "the body broke off after %d bytes: %v", into.Len(), err)
	}
	if into.Len() == 0 {
		return nil, Refuse(http.StatusBadRequest, "the body is empty: a review was expected")
	}
	return into.Bytes(), nil
}

// Decode decodes a body into a review, whose type must be this one. Versions is the field of the registration with the
// versions of the review to send. The error is a *Refusal.
func Decode(body []byte, review any, is *metav1.TypeMeta, want metav1.TypeMeta, versions string) error {
	err := json.Unmarshal(body, review)
	switch {
	case err != nil:
		return Refuse(http.StatusBadRequest, "the body is not of kind %s: %.1000v", want.Kind, err)
	case is.Kind != want.Kind:
		return Refuse(http.StatusBadRequest, "the body is of kind %.100q: %s was expected", is.Kind, want.Kind)
	case is.APIVersion != want.APIVersion:
		return Refuse(http.StatusBadRequest, "%s of apiVersion %.100q is not understood; put v1 into %s", want.Kind, is.APIVersion, versions)
	}
	return nil
}

func isJSON(contentType string) bool {
	const json = "application/json"
	if contentType == json {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == json
}

// fill reads all of body. The room grows with what has come, as a client may announce a body and
// send nothing of it.
func fill(into *bytes.Buffer, body io.Reader, length, limit int64) error {
	if length < 0 {
		length = limit + 1
	}
	for {
		has := int64(into.Len())
		wanted := min(length, max(2*has, firstRead))
		if room := int(wanted) + bytes.MinRead; into.Cap() < room { // ReadFrom wants spare room to notice the end
			larger := bytes.NewBuffer(make([]byte, 0, room))
			larger.Write(into.Bytes())
			*into = *larger
		}
		n, err := into.ReadFrom(io.LimitReader(body, wanted-has))
		if err != nil || n < wanted-has || wanted == length {
			return err
		}
	}
}

func tooLarge(limit int64) error {
	return Refuse(http.StatusRequestEntityTooLarge,
		"the review is larger than %d bytes, the most that is accepted; make the object smaller", limit)
}
