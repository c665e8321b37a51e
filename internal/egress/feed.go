// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// feed watches one kind. Of every object it keeps the ranges and nothing else.
type feed struct {
	informer cache.SharedIndexInformer
}

// held is what is kept of an object.
type held struct {
	metav1.ObjectMeta
	ranges []Range
}

// client lists and watches objects of one kind.
type client[L runtime.Object] interface {
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
}

func nodes(c kubernetes.Interface) (*feed, error) {
	return newFeed(c, c.CoreV1().Nodes(), &corev1.Node{}, metav1.ListOptions{}, nodeRanges)
}

func serviceCIDRs(c kubernetes.Interface) (*feed, error) {
	return newFeed(c, c.NetworkingV1().ServiceCIDRs(), &networkingv1.ServiceCIDR{}, metav1.ListOptions{}, serviceCIDRRanges)
}

// The API server itself keeps a Service of this name, and says in its EndpointSlices where it is.
const apiServer = "kubernetes"

func apiServerService(c kubernetes.Interface) (*feed, error) {
	only := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, apiServer).String()}
	return newFeed(c, c.CoreV1().Services(metav1.NamespaceDefault), &corev1.Service{}, only, serviceRanges)
}

func apiServerEndpoints(c kubernetes.Interface) (*feed, error) {
	only := metav1.ListOptions{LabelSelector: labels.Set{discoveryv1.LabelServiceName: apiServer}.String()}
	return newFeed(c, c.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault), &discoveryv1.EndpointSlice{}, only, sliceRanges)
}

func newFeed[T metav1.Object, L runtime.Object](c kubernetes.Interface, of client[L], kind runtime.Object, only metav1.ListOptions, ranges func(T) []Range) (*feed, error) {
	narrowed := func(o metav1.ListOptions) metav1.ListOptions {
		o.FieldSelector, o.LabelSelector = only.FieldSelector, only.LabelSelector
		return o
	}
	lister := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return of.List(ctx, narrowed(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return of.Watch(ctx, narrowed(o))
		},
	}
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(lister, c), kind, 0, nil)
	if err := informer.SetTransform(func(obj any) (any, error) {
		object, isKind := obj.(T)
		if !isKind {
			return obj, nil // transformed already
		}
		return &held{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: object.GetNamespace(), Name: object.GetName(),
				UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
			},
			ranges: ranges(object),
		}, nil
	}); err != nil {
		return nil, fmt.Errorf("watch %T: %w", kind, err)
	}
	return &feed{informer: informer}, nil
}

// onChange calls changed when ranges came or went. Nodes are written every few minutes without that,
// as they report their health.
func (f *feed) onChange(changed func()) error {
	_, err := f.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() },
		UpdateFunc: func(before, after any) {
			was, isHeld := before.(*held)
			is, areHeld := after.(*held)
			if !isHeld || !areHeld || !slices.Equal(was.ranges, is.ranges) {
				changed()
			}
		},
		DeleteFunc: func(any) { changed() },
	})
	return err
}

// appendTo appends what the feed holds now.
func (f *feed) appendTo(ranges []Range) []Range {
	for _, obj := range f.informer.GetStore().List() {
		if h, isHeld := obj.(*held); isHeld {
			ranges = append(ranges, h.ranges...)
		}
	}
	return ranges
}
