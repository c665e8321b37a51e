// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"sync"
	"time"
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
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return Refuse(http.StatusUnsupportedMediaType, "a review has the content type application/json, not %.100q",
			r.Header.Get("Content-Type"))
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
	// ReadFrom wants spare room of bytes.MinRead to notice the end, or it doubles the buffer.
	into.Grow(int(min(max(r.ContentLength, 0), maxPooled)) + bytes.MinRead)
	if _, err := into.ReadFrom(http.MaxBytesReader(nil, r.Body, limit)); err != nil {
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

func tooLarge(limit int64) error {
	return Refuse(http.StatusRequestEntityTooLarge,
		"the review is larger than %d bytes, the most that is accepted; make the object smaller", limit)
}

// Deadline bounds a request's context by limit, and by what the API server says it will wait (the
// query parameter timeout, which it sends with every webhook call), less a tenth of that, so
// that the answer still reaches it.
func Deadline(ctx context.Context, asked *url.URL, limit time.Duration) (context.Context, context.CancelFunc) {
	if patience, err := time.ParseDuration(asked.Query().Get("timeout")); err == nil && patience > 0 {
		limit = min(limit, patience-patience/10)
	}
	return context.WithTimeoutCause(ctx, limit,
		fmt.Errorf("no time left to answer within %s: %w", limit, context.DeadlineExceeded))
}
