// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slicesRecord follows the EndpointSlices of a Service by a watch of the API server, and keeps each set of ready
// addresses that there was.
type slicesRecord struct {
	cancel   context.CancelFunc
	watching sync.WaitGroup

	mu   sync.Mutex // guards what follows
	sets []readySet
	err  error
}

// readySet is the set of ready addresses behind a Service from a moment on.
type readySet struct {
	at        time.Time
	addresses []string // sorted
}

// followSlices begins to follow the slices of a Service, until close is called or ctx ends.
func followSlices(ctx context.Context, c client.WithWatch, namespace, service string) (*slicesRecord, error) {
	r := &slicesRecord{}
	ctx, r.cancel = context.WithCancel(ctx)
	selects := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service}}
	var list discoveryv1.EndpointSliceList
	if err := c.List(ctx, &list, selects...); err != nil {
		return nil, err
	}
	ready := map[string][]string{}
	for i := range list.Items {
		ready[list.Items[i].Name] = readyIn(&list.Items[i])
	}
	r.add(ready)
	changes, err := c.Watch(ctx, &discoveryv1.EndpointSliceList{}, append(selects, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})...)
	if err != nil {
		return nil, err
	}
	r.watching.Go(func() {
		defer changes.Stop()
		for change := range changes.ResultChan() {
			slice, isSlice := change.Object.(*discoveryv1.EndpointSlice)
			switch {
			case ctx.Err() != nil: // what a watch that is stopped reports last is no change
				return
			case !isSlice:
				r.fail(fmt.Errorf("the watch of the slices of %s reports %s: %v", service, change.Type, change.Object))
				return
			case change.Type == watch.Deleted:
				delete(ready, slice.Name)
			default:
				ready[slice.Name] = readyIn(slice)
			}
			r.add(ready)
		}
		if ctx.Err() == nil {
			r.fail(fmt.Errorf("the watch of the slices of %s ended", service))
		}
	})
	return r, nil
}

func readyIn(slice *discoveryv1.EndpointSlice) []string {
	var ready []string
	for _, endpoint := range slice.Endpoints {
		if ptr.Deref(endpoint.Conditions.Ready, true) {
			ready = append(ready, endpoint.Addresses...)
		}
	}
	return ready
}

func (r *slicesRecord) add(ready map[string][]string) {
	set := map[string]bool{}
	for _, addresses := range ready {
		for _, address := range addresses {
			set[address] = true
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sets = append(r.sets, readySet{time.Now(), slices.Sorted(maps.Keys(set))})
}

func (r *slicesRecord) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
}

// close ends the watch, and returns all sets in their order.
func (r *slicesRecord) close() ([]readySet, error) {
	r.cancel()
	r.watching.Wait()
	return r.sets, r.err
}

// always is nil where exactly these addresses were ready from the first set to the last.
func always(sets []readySet, began time.Time, wanted ...string) error {
	for _, set := range sets {
		if !slices.Equal(set.addresses, wanted) {
			return fmt.Errorf("%s after the beginning %q were ready, want %q at any time", set.at.Sub(began).Round(time.Millisecond), set.addresses, wanted)
		}
	}
	return nil
}

// within is nil where no other addresses than these were ever ready, and some were at any time.
func within(sets []readySet, began time.Time, allowed ...string) error {
	for _, set := range sets {
		for _, address := range set.addresses {
			if !slices.Contains(allowed, address) {
				return fmt.Errorf("%s after the beginning %s was ready, which is none of %s", set.at.Sub(began).Round(time.Millisecond), address, strings.Join(allowed, ", "))
			}
		}
	}
	return nil
}
