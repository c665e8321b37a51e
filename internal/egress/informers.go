// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

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

// rangeInformer watches one kind, and keeps only the ranges of each object.
type rangeInformer struct {
	informer cache.SharedIndexInformer
}

// objectRanges is the ranges of an object.
type objectRanges struct {
	metav1.ObjectMeta
	ranges []Range
}

// listWatcher lists and watches objects of one kind.
type listWatcher[L runtime.Object] interface {
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
}

func nodeInformer(c kubernetes.Interface) (*rangeInformer, error) {
	return newRangeInformer(c, c.CoreV1().Nodes(), &corev1.Node{}, metav1.ListOptions{}, nodeRanges)
}

func serviceCIDRInformer(c kubernetes.Interface) (*rangeInformer, error) {
	return newRangeInformer(c, c.NetworkingV1().ServiceCIDRs(), &networkingv1.ServiceCIDR{}, metav1.ListOptions{}, serviceCIDRRanges)
}

// apiServer is the Service that the API server keeps of itself, with its addresses in the EndpointSlices.
const apiServer = "kubernetes"

func apiServerServiceInformer(c kubernetes.Interface) (*rangeInformer, error) {
	only := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, apiServer).String()}
	return newRangeInformer(c, c.CoreV1().Services(metav1.NamespaceDefault), &corev1.Service{}, only, serviceRanges)
}

func apiServerEndpointsInformer(c kubernetes.Interface) (*rangeInformer, error) {
	only := metav1.ListOptions{LabelSelector: labels.Set{discoveryv1.LabelServiceName: apiServer}.String()}
	return newRangeInformer(c, c.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault), &discoveryv1.EndpointSlice{}, only, sliceRanges)
}

func newRangeInformer[T metav1.Object, L runtime.Object](
	c kubernetes.Interface, of listWatcher[L], kind runtime.Object, only metav1.ListOptions, ranges func(T) []Range,
) (*rangeInformer, error) {
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
		return &objectRanges{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: object.GetNamespace(), Name: object.GetName(),
				UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
			},
			ranges: ranges(object),
		}, nil
	}); err != nil {
		return nil, fmt.Errorf("watch %T: %w", kind, err)
	}
	return &rangeInformer{informer: informer}, nil
}

// onChange calls changed when ranges have changed. Nodes are written every few minutes without that.
func (r *rangeInformer) onChange(changed func()) error {
	_, err := r.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() },
		UpdateFunc: func(before, after any) {
			was, okBefore := before.(*objectRanges)
			is, okAfter := after.(*objectRanges)
			if !okBefore || !okAfter || !slices.Equal(was.ranges, is.ranges) {
				changed()
			}
		},
		DeleteFunc: func(any) { changed() },
	})
	return err
}

// appendRanges appends the ranges of all objects.
func (r *rangeInformer) appendRanges(ranges []Range) []Range {
	for _, obj := range r.informer.GetStore().List() {
		if h, ok := obj.(*objectRanges); ok {
			ranges = append(ranges, h.ranges...)
		}
	}
	return ranges
}

// The ranges of each kind. What is no address or prefix, such as a node's host name, is skipped.

func nodeRanges(node *corev1.Node) []Range {
	var ranges []Range
	for _, address := range node.Status.Addresses {
		ranges = appendAddress(ranges, address.Address, ReasonNode)
	}
	for _, cidr := range node.Spec.PodCIDRs {
		ranges = appendPrefix(ranges, cidr, ReasonPod)
	}
	if len(node.Spec.PodCIDRs) == 0 {
		ranges = appendPrefix(ranges, node.Spec.PodCIDR, ReasonPod)
	}
	return ranges
}

func serviceCIDRRanges(cidr *networkingv1.ServiceCIDR) []Range {
	var ranges []Range
	for _, text := range cidr.Spec.CIDRs {
		ranges = appendPrefix(ranges, text, ReasonService)
	}
	return ranges
}

func serviceRanges(service *corev1.Service) []Range {
	var ranges []Range
	for _, ip := range append([]string{service.Spec.ClusterIP}, service.Spec.ClusterIPs...) {
		ranges = appendAddress(ranges, ip, ReasonAPIServer)
	}
	return ranges
}

func sliceRanges(slice *discoveryv1.EndpointSlice) []Range {
	var ranges []Range
	for _, endpoint := range slice.Endpoints {
		for _, ip := range endpoint.Addresses {
			ranges = appendAddress(ranges, ip, ReasonAPIServer)
		}
	}
	return ranges
}

// hostRanges returns the API server as the operator reaches it: a URL, or host and port.
func hostRanges(host string) []Range {
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	at, err := url.Parse(host)
	if err != nil {
		return nil
	}
	return appendAddress(nil, at.Hostname(), ReasonAPIServer)
}

func appendAddress(ranges []Range, text string, reason Reason) []Range {
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return ranges
	}
	ip = ip.WithZone("").Unmap()
	return append(ranges, Range{netip.PrefixFrom(ip, ip.BitLen()), reason})
}

func appendPrefix(ranges []Range, text string, reason Reason) []Range {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return ranges
	}
	return append(ranges, Range{prefix, reason})
}
