// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// lister lists and watches what its source would, with a client that decodes item by item.
type lister struct {
	*cache.ListWatch // of its methods, for client-go
	kind             schema.GroupVersionKind
	source           cache.ListerWithContext
	client           rest.Interface
	serializer       *tolerantSerializer
	parameters       runtime.ParameterCodec
	transform        cache.TransformFunc
	onPage           func(kind string, objects int)
	size             atomic.Int64 // of pages, once one was cut off

	mu  sync.Mutex
	url *url.URL // nil until it is known
}

func (l *lister) listWatch() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return l.ListNamespaces(ctx, o, nil)
		},
		WatchFuncWithContext: l.watch,
	}
}

// IsWatchListSemanticsUnSupported makes client-go's informers list first. Otherwise they would receive the objects as
// events of a watch: see list.go.
func (l *lister) IsWatchListSemanticsUnSupported() bool { return true }

const (
	// pageSize is how many objects a response has at most: more might take the minute after which the API server ends it.
	pageSize = 50_000
	// smallPageSize is the size of the first page after one that was cut off, and least is the smallest size.
	smallPageSize, least = 5_000, 500
	// pageTimeout is longer than the API server takes for a response.
	pageTimeout = 75 * time.Second
)

// ListNamespaces returns all objects that are stored now, also those that the API server's watch cache does not have
// yet: what an earlier leader has written is complete. Objects of namespaces that do not pass are not decoded; nil lets
// all pass. Responses are not compressed, which would take longer than to send them.
//
// If a later page is cut off by a slow API server or network, the pages read so far are kept. Smaller pages follow, for this
// list and for later ones. All pages have one resource version.
func (l *lister) ListNamespaces(ctx context.Context, o metav1.ListOptions, passes func(namespace string) bool) (runtime.Object, error) {
	o.ResourceVersion, o.ResourceVersionMatch, o.Continue = "", "", ""
	all := &internalversion.List{}
	for {
		if o.Limit = l.size.Load(); o.Limit == 0 {
			o.Limit = pageSize
		}
		page, err := l.page(ctx, o, passes)
		switch {
		case err == nil:
			all.ListMeta, all.Items = page.ListMeta, append(all.Items, page.Items...)
			if o.Continue = page.Continue; o.Continue == "" {
				return all, nil
			}
			l.onPage(l.kind.Kind, len(all.Items))
		case ctx.Err() != nil || !isCutOff(err) || o.Limit <= least:
			return nil, err
		default:
			l.size.Store(max(least, min(smallPageSize, o.Limit/2)))
		}
	}
}

// isCutOff reports whether a smaller page may succeed where this one failed: the API server did not refuse it.
func isCutOff(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

func (l *lister) page(ctx context.Context, o metav1.ListOptions, passes func(namespace string) bool) (*internalversion.List, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	request, err := l.request(ctx, o)
	if err != nil {
		return nil, err
	}
	response, err := request.SetHeader("Accept-Encoding", "identity").Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Close() }()
	return l.serializer.readList(response, l.transform, passes)
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
	found, err := l.listURL(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.kind.Kind, err)
	}
	selectors := found.Query()
	o.LabelSelector = selectors.Get("labelSelector")
	if field := selectors.Get("fieldSelector"); field != "" {
		o.FieldSelector = field
	}
	return l.client.Get().AbsPath(found.Path).VersionedParams(&o, l.parameters), nil
}

// listURL returns the URL of the source, which is found once.
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
