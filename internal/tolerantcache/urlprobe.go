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

// urlProbeKey is the context key of a probe.
type urlProbeKey struct{}

// urlProbe records the URL that a request would be sent to.
type urlProbe struct {
	emptyList []byte // the response that the sender can decode
	url       *url.URL
}

// Transport responds to the requests of a urlProbe itself, and sends all others on. It belongs into the
// configuration of the cache's HTTP client: controller-runtime does not expose the namespace and selector of
// an informer, and overrides the decoder in the configuration of its clients.
func Transport(next http.RoundTripper) http.RoundTripper { return &transport{next} }

type transport struct{ next http.RoundTripper }

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	probe, ok := r.Context().Value(urlProbeKey{}).(*urlProbe)
	if !ok {
		return t.next.RoundTrip(r)
	}
	probe.url = r.URL
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(probe.emptyList)), ContentLength: int64(len(probe.emptyList)),
	}, nil
}

// WrappedRoundTripper lets client-go close the idle connections of the wrapped transport.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// listURL returns the URL that a lister would send a request to. Nothing is sent.
func listURL(ctx context.Context, lister cache.ListerWithContext, empty []byte) (*url.URL, error) {
	probe := &urlProbe{emptyList: empty}
	if _, err := lister.ListWithContext(context.WithValue(ctx, urlProbeKey{}, probe), metav1.ListOptions{}); err != nil {
		return nil, fmt.Errorf("where to list from: %w", err)
	}
	if probe.url == nil {
		return nil, fmt.Errorf("where to list from: %T lists past the transport of its client", lister)
	}
	return probe.url, nil
}
