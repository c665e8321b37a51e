// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"
)

const (
	// maxPooled is the capacity, in bytes, above which a buffer is left to the garbage collector: one
	// large review must not pin its size for good.
	maxPooled = 64 << 10
	// firstRead is what is made room for before anything has come: most reviews fit into it.
	firstRead = 8 << 10
)

var buffers sync.Pool

// Buffer returns an empty buffer; give it back with Release when nothing refers to its bytes.
func Buffer() *bytes.Buffer {
	if b, ok := buffers.Get().(*bytes.Buffer); ok {
		return b
	}
	return new(bytes.Buffer)
}

// Release gives a buffer back.
func Release(b *bytes.Buffer) {
	if b.Cap() > maxPooled {
		return
	}
	b.Reset()
	buffers.Put(b)
}

// ReadBody fills into with the body of a review: a POST of JSON, not empty, at most limit bytes. The
// error is a *Refusal.
func ReadBody(into *bytes.Buffer, r *http.Request, limit int64) error {
	if r.Method != http.MethodPost {
		return Refuse(http.StatusMethodNotAllowed, "a review is sent by POST, not by %s", r.Method)
	}
	if media := r.Header.Get("Content-Type"); !isJSON(media) {
		return Refuse(http.StatusUnsupportedMediaType, "a review has the content type application/json, not %.100q", media)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return Refuse(http.StatusUnsupportedMediaType, "a review is sent uncompressed, not with content encoding %.100q", coding)
	}
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	if r.Body == nil {
		return Refuse(http.StatusBadRequest, "the body is empty: a review was expected")
	}
	if err := fill(into, http.MaxBytesReader(nil, r.Body, limit), r.ContentLength, limit); err != nil {
		var (
			over    *http.MaxBytesError
			refusal *Refusal
		)
		switch {
		case errors.As(err, &over):
			return tooLarge(limit)
		case errors.As(err, &refusal):
			return refusal // the server's own, such as for a body that comes too slowly
		}
		return Refuse(http.StatusBadRequest, "the body broke off after %d bytes: %v", into.Len(), err)
	}
	if into.Len() == 0 {
		return Refuse(http.StatusBadRequest, "the body is empty: a review was expected")
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
