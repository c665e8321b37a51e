// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// call sends one body to a handler repeatedly. It reuses the request and the recorder, so that only the handler's cost
// is measured.
type call struct {
	handler http.Handler
	body    []byte
	request *http.Request
	reader  bytes.Reader
	answer  recorder
}

func newCall(handler http.Handler, body []byte) *call {
	c := &call{handler: handler, body: body, answer: recorder{header: http.Header{}}}
	c.request = &http.Request{
		Method:        http.MethodPost,
		URL:           &url.URL{Path: "/", RawQuery: "timeout=10s"},
		Header:        http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(body)),
		Body:          io.NopCloser(&c.reader),
	}
	return c
}

// send makes one request. c.answer holds its response until the next call.
func (c *call) send() {
	c.reader.Reset(c.body)
	c.answer.reset()
	c.handler.ServeHTTP(&c.answer, c.request)
}

// ask returns a copy of the body of one response.
func (c *call) ask() ([]byte, error) {
	c.send()
	if c.answer.code != http.StatusOK {
		return nil, fmt.Errorf("status %d: %.200s", c.answer.code, c.answer.body.Bytes())
	}
	return bytes.Clone(c.answer.body.Bytes()), nil
}

// recorder is an http.ResponseWriter that allocates nothing once it has grown.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

var _ http.ResponseWriter = (*recorder)(nil)

func (r *recorder) reset() {
	clear(r.header)
	r.body.Reset()
	r.code = http.StatusOK
}

func (r *recorder) Header() http.Header               { return r.header }
func (r *recorder) WriteHeader(code int)              { r.code = code }
func (r *recorder) Write(content []byte) (int, error) { return r.body.Write(content) }

// floor is a handler that returns the body of the request. It measures the cost of the harness.
var floor = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	answer, ok := w.(*recorder)
	if !ok {
		http.Error(w, "the floor is measured with the recorder of this package", http.StatusInternalServerError)
		return
	}
	if _, err := answer.body.ReadFrom(r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
})
