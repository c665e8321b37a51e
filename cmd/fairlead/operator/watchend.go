// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// watchEnds has a watch that we end end, where it would fail otherwise. client-go makes an event of
// the failure, and the filter that controller-runtime puts around watches of metadata waits for ever
// for a receiver (k8s.io/apimachinery/pkg/watch, filteredWatch): a goroutine and its buffers
// for each such watch of each term.
type watchEnds struct{ next http.RoundTripper }

func endWatches(api *rest.Config) *rest.Config {
	api = rest.CopyConfig(api)
	api.Wrap(func(next http.RoundTripper) http.RoundTripper { return &watchEnds{next} })
	return api
}

func (w *watchEnds) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(r)
	// Only a watch: a list that ends early must fail.
	if err == nil && r.URL.Query().Has("watch") {
		response.Body = &watchBody{response.Body, r.Context()}
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport, to close its idle connections.
func (w *watchEnds) WrappedRoundTripper() http.RoundTripper { return w.next }

type watchBody struct {
	io.ReadCloser
	ctx context.Context // that of the request
}

func (b *watchBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && !errors.Is(err, io.EOF) && b.ctx.Err() != nil {
		err = io.EOF
	}
	return n, err
}
