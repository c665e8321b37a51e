// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// memory is what this process knows of one object beyond the API server. An object is reconciled
// once at a time, and its memory is used by no other reconcile.
type memory struct {
	uid types.UID
	// first is when the object was first seen.
	first time.Time
	// resolved and probed say that the names and the targets have been handed over with their seeds.
	resolved, probed bool
	// decided says that the fields below it were set by a decision of this process, or from what an
	// earlier one left.
	decided   bool
	active    *int32
	panicking bool
	// lapsed says of each priority that it had not enough healthy addresses when last seen, and
	// regained when it first had again.
	lapsed   [priorities]bool
	regained [priorities]time.Time
	// handled is the last request to go back that was acted upon.
	handled string
	// latest is the latest time at which a fault was decided about, ended the last fault that this
	// process has ended, and confirmed the request of the one that was read from the API server.
	latest    time.Time
	ended     *networkingv1.FaultStatus
	confirmed string
	// flaps are the addresses that have become unhealthy in this process.
	flaps map[target]*flap
	// slices and texts are how often the slices, and what is not urgent of the status, were written
	// lately.
	slices, texts turbulence
	// wrote are the writes of slices that the cache does not show yet.
	wrote map[string]write
	// reported is the last write of the status.
	reported controller.LastWrite
}

// learn takes in a decision.
func (m *memory) learn(d *decision, now time.Time, request string) {
	m.decided, m.panicking = true, d.panics
	m.active = nil
	if d.active != nil {
		m.active = ptr.To(*d.active)
	}
	for priority := range m.lapsed {
		had := d.qualified&(1<<priority) != 0
		if had && m.lapsed[priority] {
			m.regained[priority] = now
		}
		m.lapsed[priority] = !had
	}
	if d.handled {
		m.handled = request
	}
}

// regainedBy is regained, with those that may just have regained it.
func (m *memory) regainedBy(now time.Time) [priorities]time.Time {
	at := m.regained
	for priority, lapsed := range m.lapsed {
		if lapsed {
			at[priority] = now
		}
	}
	return at
}

// memories are those of all objects.
type memories struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*memory
	// drains are the deleted objects whose slices this process has written as terminating.
	drains map[types.NamespacedName]drain
}

// drain is when the slices of a deleted object began to stand as terminating.
type drain struct {
	uid   types.UID
	began time.Time
}

// of returns the memory of an object. fresh says that it is new: the object was never seen, or is
// another one by the same name.
func (all *memories) of(key types.NamespacedName, uid types.UID, now time.Time) (m *memory, fresh bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	m, ok := all.all[key]
	if ok && m.uid == uid {
		return m, false
	}
	if all.all == nil {
		all.all = map[types.NamespacedName]*memory{}
	}
	m = &memory{uid: uid, first: now}
	all.all[key] = m
	return m, true
}

func (all *memories) drop(key types.NamespacedName) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.all, key)
}

// drained notes that slices were written as terminating now.
func (all *memories) drained(key types.NamespacedName, uid types.UID, now time.Time) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.drains == nil {
		all.drains = map[types.NamespacedName]drain{}
	}
	all.drains[key] = drain{uid, now}
}

// draining returns since when the slices stand as terminating, as far as this process knows; zero
// where it did not write them.
func (all *memories) draining(key types.NamespacedName, uid types.UID) time.Time {
	all.mu.Lock()
	defer all.mu.Unlock()
	if d := all.drains[key]; d.uid == uid {
		return d.began
	}
	return time.Time{}
}

// gone forgets an object that is no more.
func (all *memories) gone(key types.NamespacedName) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.drains, key)
}

// keys are the objects that are remembered.
func (all *memories) keys() []types.NamespacedName {
	all.mu.Lock()
	defer all.mu.Unlock()
	keys := make([]types.NamespacedName, 0, len(all.all))
	for key := range all.all {
		keys = append(keys, key)
	}
	return keys
}
