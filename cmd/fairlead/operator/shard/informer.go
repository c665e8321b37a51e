// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// client lists and watches one kind, as the typed clients of client-go do.
type client[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// newInformer returns an informer of the objects that the label selector selects, by a client of set. Its lists are consistent: of what
// an earlier leader has written, none is missing.
func newInformer[L runtime.Object](
	set kubernetes.Interface, of client[L], example runtime.Object, selector string,
) cache.SharedIndexInformer {
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector, o.ResourceVersion, o.ResourceVersionMatch = selector, "", ""
			return of.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			return of.Watch(ctx, o)
		},
	}, set)
	return cache.NewSharedIndexInformer(source, example, 0, cache.Indexers{})
}

// follow runs the informer until ctx ends, and calls synced once it and its handlers know what there is.
func follow(ctx context.Context, informer cache.SharedIndexInformer, handled cache.InformerSynced, synced func()) {
	following := make(chan struct{})
	go func() {
		defer close(following)
		panics.Go("shard", func() { informer.RunWithContext(ctx) })
	}()
	defer func() { <-following }()
	if cache.WaitForCacheSync(ctx.Done(), handled) {
		synced()
		<-ctx.Done()
	}
}
