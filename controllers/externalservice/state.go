// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"net/netip"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/probe"
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

// sliceWrite is an EndpointSlice that we wrote, or removed where version is empty.
type sliceWrite struct {
	version string
	at      time.Time
}

// recordSliceWrite remembers a write until the cache shows it.
func (m *objectState) recordSliceWrite(name, version string, now time.Time) {
	if m.sliceWrites == nil {
		m.sliceWrites = map[string]sliceWrite{}
	}
	m.sliceWrites[name] = sliceWrite{version, now}
}

// cacheStale says whether the cache does not show yet what we wrote. To decide by what it shows would
// undo that, or fail with a conflict.
func (m *objectState) cacheStale(current []*discoveryv1.EndpointSlice, now time.Time) bool {
	behind := false
	for name, w := range m.sliceWrites {
		if now.Sub(w.at) < controller.StaleTimeout && !w.isCached(findSlice(current, name)) {
			behind = true
			continue
		}
		delete(m.sliceWrites, name)
	}
	return behind
}

func (w sliceWrite) isCached(cached *discoveryv1.EndpointSlice) bool {
	switch {
	case w.version == "":
		return cached == nil || cached.DeletionTimestamp != nil
	case cached == nil:
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, w.version)
	return err != nil || order >= 0
}

// recordStatusWrite remembers a write of an object's status.
func (all *stateStore) recordStatusWrite(es *networkingv1.ExternalService, now time.Time) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if m := all.byKey[client.ObjectKeyFromObject(es)]; m != nil && m.uid == es.UID {
		m.statusWrite.Record(es, now)
		writeDamping.add(&m.statusWriteRate, 1, now)
	}
}

// statusCacheStale says whether an object, as the cache has it, lacks the status that we wrote last. To
// build upon that would end in a conflict; and a status that is what was there before would be
// taken for the one that is there.
func (all *stateStore) statusCacheStale(es *networkingv1.ExternalService, now time.Time) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	m := all.byKey[client.ObjectKeyFromObject(es)]
	return m != nil && m.uid == es.UID && m.statusWrite.NewerThan(es, now)
}

// previousState is what a process before this one has left: what stands in the EndpointSlices, and what the
// status says. Slices are written first, so where the two disagree the slices are right.
type previousState struct {
	status    *networkingv1.ExternalServiceStatus
	published map[publishedKey]bool // and whether it is ready
	// active is the priority that is published; nil where none is.
	active *int32
	// panicking says that everything is published as ready since nothing is healthy.
	panicking bool
	// statusOutdated says that the status was not written after the slices were: what it says of other
	// priorities is out of date.
	statusOutdated bool
}

// publishedKey is an address with its ports in the slices.
type publishedKey struct {
	ip     netip.Addr
	digest string
}

// previousStateOf reads what was left.
func previousStateOf(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, all []resolvedEndpoint) *previousState {
	l := &previousState{status: &es.Status, active: es.Status.ActivePriority, published: map[publishedKey]bool{}}
	for _, slice := range current {
		digest := slicePortDigest(slice)
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			if ip, err := netip.ParseAddr(e.Addresses[0]); err == nil {
				l.published[publishedKey{ip, digest}] = ptr.Deref(e.Conditions.Ready, true)
			}
		}
	}
	if f := es.Status.Fault; f.Lasts() { // what is published says nothing about the outside
		return &previousState{status: &es.Status, active: f.Priority}
	}
	counts := map[int32]int{}
	forEachActive(all, func(s *resolvedEndpoint, a *address) {
		if _, ok := l.published[publishedKey{a.ip, a.ports.digest}]; ok {
			counts[s.priority]++
		}
	})
	most := ptr.Deref(l.active, -1)
	for priority := range int32(numPriorities) {
		if counts[priority] > counts[most] {
			most = priority
		}
	}
	if most >= 0 && (l.active == nil || most != *l.active) {
		l.active, l.statusOutdated = &most, true
	}
	a := es.Status.Addresses
	l.panicking = !l.statusOutdated && es.Spec.HealthCheck != nil && a != nil && a.Healthy == 0 && a.Published > 0
	return l
}

func slicePortDigest(slice *discoveryv1.EndpointSlice) string {
	for _, p := range slice.Ports {
		if p.Name == nil || p.Port == nil || p.Protocol == nil {
			return "" // a user has edited it
		}
	}
	digest, _ := portDigest(slice.Ports)
	return digest
}

// healthSeed is what is known of the health of an address, or nil.
func (l *previousState) healthSeed(s *resolvedEndpoint, a *address) *probe.Seed {
	var said networkingv1.AddressHealth
	var since time.Time
	if status := statusAddress(statusOf(l.status, s.Name), a); status != nil {
		said = status.Health
		if status.Since != nil {
			since = status.Since.Time
		}
	}
	state := said
	ready, published := l.published[publishedKey{a.ip, a.ports.digest}]
	published = published && l.active != nil && *l.active == s.priority
	switch {
	case published && ready && !l.panicking:
		state = networkingv1.AddressHealthy
	case published && !ready && said != networkingv1.AddressUnknown:
		state = networkingv1.AddressUnhealthy
	case !published && l.statusOutdated:
		return nil
	}
	if state != networkingv1.AddressHealthy && state != networkingv1.AddressUnhealthy {
		return nil
	}
	if state != said {
		since = time.Time{}
	}
	return &probe.Seed{State: state, Since: since}
}

// statusAddress is what the status has of an address of an endpoint.
func statusAddress(status *networkingv1.EndpointStatus, a *address) *networkingv1.AddressStatus {
	if status == nil {
		return nil
	}
	for i := range status.Addresses {
		s := &status.Addresses[i]
		if s.Port != int32(a.srvPort) {
			continue
		}
		if ip, err := netip.ParseAddr(s.IP); err == nil && ip == a.ip {
			return s
		}
	}
	return nil
}
