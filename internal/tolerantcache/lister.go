// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// lister lists and watches what another would, by a client that decodes item by item.
type lister struct {
	kind       schema.GroupVersionKind
	source     cache.ListerWithContext
	client     rest.Interface
	parameters runtime.ParameterCodec

	mu  sync.Mutex
	url *url.URL // nil until it is known
}

// listWatch is the form in which client-go knows what a lister can.
func (l *lister) listWatch() *cache.ListWatch {
	return &cache.ListWatch{ListWithContextFunc: l.list, WatchFuncWithContext: l.watch}
}

func (l *lister) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	request, err := l.request(ctx, o)
	if err != nil {
		return nil, err
	}
	return request.Do(ctx).Get()
}

func (l *lister) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	request, err := l.request(ctx, o)
	if err != nil {
		return nil, err
	}
	return request.Watch(ctx)
}

func (l *lister) request(ctx context.Context, o metav1.ListOptions) (*rest.Request, error) {
	at, err := l.listURL(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.kind.Kind, err)
	}
	selectors := at.Query()
	o.LabelSelector, o.FieldSelector = selectors.Get("labelSelector"), selectors.Get("fieldSelector")
	return l.client.Get().AbsPath(at.Path).VersionedParams(&o, l.parameters), nil
}

// listURL is asked for once.
func (l *lister) listURL(ctx context.Context) (*url.URL, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.url != nil {
		return l.url, nil
	}
	empty, err := json.Marshal(map[string]any{
		"apiVersion": l.kind.GroupVersion().String(), "kind": l.kind.Kind + "List", "metadata": map[string]any{}, "items": []any{},
	})
	if err != nil {
		return nil, err
	}
	l.url, err = listURL(ctx, l.source, empty)
	return l.url, err
}

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
