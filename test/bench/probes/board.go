// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// board records what the EndpointSlices have about each address, and since when. It sees them as a kube-proxy does, by
// a watch.
type board struct {
	cancel context.CancelFunc
	shut   func()

	mu     sync.Mutex // guards what follows
	all    map[netip.Addr]entry
	ready  int
	listed moment
	whole  moment
}

// entry is one address.
type entry struct {
	ready bool
	since time.Time
}

// moment is when a number was first reached.
type moment struct {
	n  int
	at time.Time
}

// watch starts a board. It returns once the board has the current EndpointSlices.
func watch(ctx context.Context, client kubernetes.Interface) (*board, error) {
	b := newBoard()
	ctx, b.cancel = context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = discoveryv1.LabelManagedBy + "=fairlead.dev" }),
		informers.WithTransform(slim))
	b.shut = factory.Shutdown
	informer := factory.Discovery().V1().EndpointSlices().Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { b.show(object, time.Now()) },
		UpdateFunc: func(_, object any) { b.show(object, time.Now()) },
	})
	if err != nil {
		return nil, err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil, context.Cause(ctx)
	}
	return b, nil
}

// slim removes what the board does not use from a slice.
func slim(object any) (any, error) {
	if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
		slice.ManagedFields, slice.OwnerReferences, slice.Labels = nil, nil, nil
	}
	return object, nil
}

func newBoard() *board { return &board{all: map[netip.Addr]entry{}} }

func (b *board) close() {
	b.cancel()
	b.shut()
}

// show records a slice. Each address is in one slice only, and is never removed.
func (b *board) show(object any, now time.Time) {
	slice, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range slice.Endpoints {
		e := &slice.Endpoints[i]
		for _, text := range e.Addresses {
			ip, err := netip.ParseAddr(text)
			if err != nil {
				continue
			}
			is := ptr.Deref(e.Conditions.Ready, true)
			was, known := b.all[ip]
			if known && was.ready == is {
				continue
			}
			b.all[ip] = entry{is, now}
			if is {
				b.ready++
			} else if known {
				b.ready--
			}
			b.listed.reach(len(b.all), now)
			b.whole.reach(b.ready, now)
		}
	}
}

// reach records a number that is higher than all before.
func (m *moment) reach(n int, at time.Time) {
	if n > m.n {
		m.n, m.at = n, at
	}
}

// lists returns when n addresses were in slices, and serves when n were ready; zero if that has not happened.
func (b *board) lists(n int) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.listed.of(n)
}

func (b *board) serves(n int) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.whole.of(n)
}

func (m *moment) of(n int) time.Time {
	if m.n < n {
		return time.Time{}
	}
	return m.at
}

// readyNow returns how many addresses are ready.
func (b *board) readyNow() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready
}

// String returns the progress as a text.
func (b *board) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%d addresses published, %d of them ready", len(b.all), b.ready)
}

// of returns whether an address is ready, and since when.
func (b *board) of(ip netip.Addr) (ready bool, since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.all[ip]
	return e.ready, e.since
}
