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

// objectState is what this process knows of one object beyond the API server. An object is reconciled
// once at a time, and its memory is used by no other reconcile.
type objectState struct {
	uid types.UID
	// firstSeen is when the object was first seen.
	firstSeen time.Time
	// namesSeeded and probed say that the names and the targets have been handed over with their seeds.
	namesSeeded, targetsSeeded bool
	// decided says that the fields below it were set by a decision of this process, or from what an
	// earlier one left.
	decided   bool
	active    *int32
	panicking bool
	// unqualified says of each priority that it had not enough healthy addresses when last seen, and
	// regained when it first had again.
	unqualified    [numPriorities]bool
	qualifiedSince [numPriorities]time.Time
	// handledFailback is the last request to go back that was acted upon.
	handledFailback string
	// latestDecision is the latest time at which a fault was decided about, ended the last fault that this
	// process has ended, and confirmed the request of the one that was read from the API server.
	latestDecision time.Time
	endedFault     *networkingv1.FaultStatus
	confirmedFault string
	// flaps are the addresses that have become unhealthy in this process.
	flaps map[addressKey]*flapState
	// sliceWriteRate and texts are how often the slices, and what is not urgent of the status, were written
	// lately.
	sliceWriteRate, statusWriteRate changeRate
	// sliceWrites are the writes of slices that the cache does not show yet.
	sliceWrites map[string]sliceWrite
	// statusWrite is the last write of the status.
	statusWrite controller.LastWrite
}

// recordDecision takes in a decision.
func (m *objectState) recordDecision(d *decision, now time.Time, request string) {
	m.decided, m.panicking = true, d.panicking
	m.active = nil
	if d.active != nil {
		m.active = ptr.To(*d.active)
	}
	for priority := range m.unqualified {
		had := d.qualified&(1<<priority) != 0
		if had && m.unqualified[priority] {
			m.qualifiedSince[priority] = now
		}
		m.unqualified[priority] = !had
	}
	if d.failbackHandled {
		m.handledFailback = request
	}
}

// qualifiedSinceAt is regained, with those that may just have regained it.
func (m *objectState) qualifiedSinceAt(now time.Time) [numPriorities]time.Time {
	at := m.qualifiedSince
	for priority, lapsed := range m.unqualified {
		if lapsed {
			at[priority] = now
		}
	}
	return at
}

// stateStore are those of all objects.
type stateStore struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]*objectState
	// drains are the deleted objects whose slices this process has written as terminating.
	drains map[types.NamespacedName]drainRecord
}

// drainRecord is when the slices of a deleted object began to stand as terminating.
type drainRecord struct {
	uid   types.UID
	began time.Time
}

// get returns the memory of an object. fresh says that it is new: the object was never seen, or is
// another one by the same name.
func (all *stateStore) get(key types.NamespacedName, uid types.UID, now time.Time) (m *objectState, fresh bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	m, ok := all.byKey[key]
	if ok && m.uid == uid {
		return m, false
	}
	if all.byKey == nil {
		all.byKey = map[types.NamespacedName]*objectState{}
	}
	m = &objectState{uid: uid, firstSeen: now}
	all.byKey[key] = m
	return m, true
}

func (all *stateStore) drop(key types.NamespacedName) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.byKey, key)
}

// recordDrain notes that slices were written as terminating now.
func (all *stateStore) recordDrain(key types.NamespacedName, uid types.UID, now time.Time) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.drains == nil {
		all.drains = map[types.NamespacedName]drainRecord{}
	}
	all.drains[key] = drainRecord{uid, now}
}

// drainStart returns since when the slices stand as terminating, as far as this process knows; zero
// where it did not write them.
func (all *stateStore) drainStart(key types.NamespacedName, uid types.UID) time.Time {
	all.mu.Lock()
	defer all.mu.Unlock()
	if d := all.drains[key]; d.uid == uid {
		return d.began
	}
	return time.Time{}
}

// dropDrain forgets an object that is no more.
func (all *stateStore) dropDrain(key types.NamespacedName) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.drains, key)
}

// keys are the objects that are remembered.
func (all *stateStore) keys() []types.NamespacedName {
	all.mu.Lock()
	defer all.mu.Unlock()
	keys := make([]types.NamespacedName, 0, len(all.byKey))
	for key := range all.byKey {
		keys = append(keys, key)
	}
	return keys
}
