// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// podsPerPage bounds the pods that are decoded at a time if the API server does not stream a list. A pod is several KiB; only
// its addresses are kept.
const podsPerPage = 500

// podAddresses are the addresses that pods have now. In a network that gives pods addresses of its own choice (a cloud's
// VPC, Calico, Cilium) no range of nodes contains them. It is the store of a reflector, and keeps some 300 bytes of a pod.
type podAddresses struct {
	// changed is called, with no lock held, with an address that became a pod's, or is one's no longer.
	changed func(netip.Addr)

	mu        sync.RWMutex
	known     bool // all pods have been read
	ofPod     map[types.UID][]netip.Addr
	podsWith  map[netip.Addr]int32
	firstRead chan struct{} // closed once known is true
}

var _ cache.TransformingStore = (*podAddresses)(nil)

func newPodAddresses(changed func(netip.Addr)) *podAddresses {
	return &podAddresses{
		changed: changed, ofPod: map[types.UID][]netip.Addr{}, podsWith: map[netip.Addr]int32{}, firstRead: make(chan struct{}),
	}
}

// podReflector returns what keeps pods current, in all namespaces.
func podReflector(c kubernetes.Interface, pods *podAddresses) *cache.Reflector {
	of := c.CoreV1().Pods(metav1.NamespaceAll)
	lister := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.Limit, o.ResourceVersion, o.ResourceVersionMatch = podsPerPage, "", "" // a list at any version has one page
			all := &corev1.PodList{}
			for {
				page, err := of.List(ctx, o)
				if err != nil {
					return nil, err
				}
				for i := range page.Items {
					all.Items = append(all.Items, *addressesOf(&page.Items[i]))
				}
				all.ResourceVersion = page.ResourceVersion
				if o.Continue = page.Continue; o.Continue == "" {
					return all, nil
				}
			}
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return of.Watch(ctx, o) },
	}
	return cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lister, c), &corev1.Pod{}, pods,
		cache.ReflectorOptions{Name: "addresses of pods"})
}

// addressesOf returns a pod with nothing but what the store reads. A pod that has ended has no address any more, which
// its network may have given to another by now.
func addressesOf(pod *corev1.Pod) *corev1.Pod {
	kept := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}}
	if phase := pod.Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
		kept.Status.PodIP, kept.Status.PodIPs = pod.Status.PodIP, pod.Status.PodIPs
	}
	return kept
}

// Transformer drops what is not kept while a list arrives.
func (p *podAddresses) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		if pod, isPod := obj.(*corev1.Pod); isPod {
			return addressesOf(pod), nil
		}
		return obj, nil
	}
}

// Add keeps the addresses of a pod.
func (p *podAddresses) Add(obj any) error {
	if pod, isPod := obj.(*corev1.Pod); isPod {
		p.set(pod.UID, ipsOf(addressesOf(pod)))
	}
	return nil
}

// Update keeps the addresses of a pod.
func (p *podAddresses) Update(obj any) error { return p.Add(obj) }

// Delete forgets a pod.
func (p *podAddresses) Delete(obj any) error {
	if pod, isPod := obj.(*corev1.Pod); isPod {
		p.set(pod.UID, nil)
	}
	return nil
}

// Replace keeps the addresses of all pods.
func (p *podAddresses) Replace(objects []any, _ string) error {
	listed := make(map[types.UID][]netip.Addr, len(objects))
	for _, obj := range objects {
		if pod, isPod := obj.(*corev1.Pod); isPod {
			listed[pod.UID] = ipsOf(addressesOf(pod))
		}
	}
	p.mu.RLock()
	for uid := range p.ofPod {
		if _, isThere := listed[uid]; !isThere {
			listed[uid] = nil
		}
	}
	p.mu.RUnlock()
	for uid, ips := range listed {
		p.set(uid, ips)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known {
		p.known = true
		close(p.firstRead)
	}
	return nil
}

// Resync does nothing: nothing is derived from the store.
func (p *podAddresses) Resync() error { return nil }

// set replaces the addresses of a pod; none forget it.
func (p *podAddresses) set(uid types.UID, ips []netip.Addr) {
	for _, ip := range p.replace(uid, ips) {
		p.changed(ip)
	}
}

// replace returns the addresses that became a pod's, and those that are none's any more.
func (p *podAddresses) replace(uid types.UID, ips []netip.Addr) (changed []netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.ofPod[uid]
	for _, ip := range ips {
		if p.podsWith[ip]++; p.podsWith[ip] == 1 {
			changed = append(changed, ip)
		}
	}
	for _, ip := range before {
		if p.podsWith[ip]--; p.podsWith[ip] == 0 {
			delete(p.podsWith, ip)
			changed = append(changed, ip)
		}
	}
	if len(ips) > 0 {
		p.ofPod[uid] = ips
	} else {
		delete(p.ofPod, uid)
	}
	return changed
}

// has reports whether a pod has the address.
func (p *podAddresses) has(ip netip.Addr) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.podsWith[ip] > 0
}

// areKnown reports whether all pods have been read. What was read stays known while a watch is interrupted.
func (p *podAddresses) areKnown() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.known
}

// ipsOf returns the addresses of a pod, of both families, each once.
func ipsOf(pod *corev1.Pod) (ips []netip.Addr) {
	texts := make([]string, 0, 1+len(pod.Status.PodIPs))
	texts = append(texts, pod.Status.PodIP)
	for _, ip := range pod.Status.PodIPs {
		texts = append(texts, ip.IP)
	}
	for i, text := range texts {
		ip, err := netip.ParseAddr(text)
		if err == nil && (i == 0 || text != texts[0]) {
			ips = append(ips, ip.Unmap())
		}
	}
	return ips
}
