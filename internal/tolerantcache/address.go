// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// urlProbeKey is the key of a question in the context of a request.
type urlProbeKey struct{}

// urlProbe is where a request would go.
type urlProbe struct {
	emptyList []byte // the answer that its sender understands
	url       *url.URL
}

// Transport responds to questions for the address of a list, and sends everything else on. It belongs into
// the configuration that the cache's HTTP client is made from: controller-runtime keeps to itself which
// namespace and which selector an informer is for, and puts a decoder of its own into its clients
// whatever their configuration says.
func Transport(next http.RoundTripper) http.RoundTripper { return &transport{next} }

type transport struct{ next http.RoundTripper }

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	asked, ok := r.Context().Value(urlProbeKey{}).(*urlProbe)
	if !ok {
		return t.next.RoundTrip(r)
	}
	asked.url = r.URL
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(asked.emptyList)), ContentLength: int64(len(asked.emptyList)),
	}, nil
}

// WrappedRoundTripper lets client-go find the transport, to close its idle connections.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// listURL returns what a lister would ask the API server for. Nothing is sent.
func listURL(ctx context.Context, lister cache.ListerWithContext, empty []byte) (*url.URL, error) {
	asked := &urlProbe{emptyList: empty}
	if _, err := lister.ListWithContext(context.WithValue(ctx, urlProbeKey{}, asked), metav1.ListOptions{}); err != nil {
		return nil, fmt.Errorf("where to list from: %w", err)
	}
	if asked.url == nil {
		return nil, fmt.Errorf("where to list from: %T lists past the transport of its client", lister)
	}
	return asked.url, nil
}
