// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"
)

// maxPooled is the capacity, in bytes, above which a buffer is left to the garbage collector: one
// large review must not pin its size for good.
const maxPooled = 1 << 20

var buffers sync.Pool

// Buffer answers an empty buffer; give it back with Release when nothing refers to its bytes.
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

// Read fills into with the body of a review: a POST of JSON, not empty, at most limit bytes. The
// error is a *Refusal.
func Read(into *bytes.Buffer, r *http.Request, limit int64) error {
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
		var over *http.MaxBytesError
		if errors.As(err, &over) {
			return tooLarge(limit)
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

// fill reads all of body: first as much as every review of ours has, then, once the first byte
// beyond it has come, the rest into room made at once. To double a buffer up to the limit would
// leave as much again behind as garbage.
func fill(into *bytes.Buffer, body io.Reader, length, limit int64) error {
	if length < 0 {
		length = limit + 1
	}
	first := min(length, maxPooled)
	into.Grow(int(first) + bytes.MinRead) // ReadFrom wants spare room to notice the end
	if n, err := into.ReadFrom(io.LimitReader(body, first)); err != nil || n < first || n == length {
		return err
	}
	var next [1]byte
	if _, err := io.ReadFull(body, next[:]); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	into.Grow(int(length-first) + bytes.MinRead)
	into.Write(next[:])
	_, err := into.ReadFrom(body)
	return err
}

func tooLarge(limit int64) error {
	return Refuse(http.StatusRequestEntityTooLarge,
		"the review is larger than %d bytes, the most that is accepted; make the object smaller", limit)
}
