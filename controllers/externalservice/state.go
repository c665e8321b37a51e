// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// objectState is what this process keeps of one object beyond the API server. It has no lock: no object is
// reconciled twice at the same time.
type objectState struct {
	uid       types.UID
	firstSeen time.Time
	// clusterIP is that of the Service when it was last seen: a cached status may not have it yet.
	clusterIP string
	// families are those of the Service when it was last seen, and nil where they decide nothing.
	families []corev1.IPFamily
	// seededGeneration is that of the spec whose names Resolution has got the seeds of, and targetsSeeded means that
	// Probes has got its own.
	seededGeneration int64
	targetsSeeded    bool
	// decided means that active and panicking are those of a decision of this process, and not of the previous
	// state.
	decided   bool
	active    *int32
	panicking bool
	// unqualified has the priorities without enough healthy addresses at the last decision, and
	// qualifiedSince when each first had enough after that; nil where all always had.
	unqualified    [numPriorities]bool
	qualifiedSince *[numPriorities]time.Time
	// handledFailback is the last request to fail back that was handled.
	handledFailback string
	// latestDecision is the latest time of a decision about a fault, endedFault the last fault that this
	// process has ended, and confirmedFault the request of the one that was read from the API server.
	latestDecision time.Time
	endedFault     *networkingv1.FaultStatus
	confirmedFault string
	// flaps are the addresses that have become unhealthy in this process.
	flaps map[addressKey]*flapState
	// heldSince is since when slices and status wait for first lookups and checks; zero where they do not.
	heldSince time.Time
	// outgoingSince is since when addresses that are ready are kept until their successors are checked.
	outgoingSince map[publishedKey]time.Time
	// sliceWriteRate and statusWriteRate are how often slices and status were written lately.
	sliceWriteRate, statusWriteRate changeRate
	// sliceWrites are the writes of slices that the cache does not show yet.
	sliceWrites map[string]sliceWrite
	// statusWrite is the last write of the status.
	statusWrite controller.LastWrite
	// refused is how many reconciles in a row had a write that failed, and refusal the errors of the last one.
	refused int
	refusal string
}

// recordDecision stores a decision.
func (s *objectState) recordDecision(d *decision, now time.Time, request string) {
	s.decided, s.panicking = true, d.panicking
	s.active = nil
	if d.active != nil {
		s.active = ptr.To(*d.active)
	}
	for priority := range s.unqualified {
		had := d.qualified&(1<<priority) != 0
		if had && s.unqualified[priority] {
			if s.qualifiedSince == nil {
				s.qualifiedSince = &[numPriorities]time.Time{}
			}
			s.qualifiedSince[priority] = now
		}
		s.unqualified[priority] = !had
	}
	if d.failbackHandled {
		s.handledFailback = request
	}
}

// qualifiedSinceAt returns qualifiedSince, with now for those that did not qualify at the last decision.
func (s *objectState) qualifiedSinceAt(now time.Time) [numPriorities]time.Time {
	at := ptr.Deref(s.qualifiedSince, [numPriorities]time.Time{})
	for priority, unqualified := range s.unqualified {
		if unqualified {
			at[priority] = now
		}
	}
	return at
}

// stateStore holds the states of all objects.
type stateStore struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]*objectState
	// drains are those of deleted objects whose slices this process has written as terminating.
	drains map[types.NamespacedName]drainRecord
	// refusedStatuses are those that the API server refuses to store, also of objects that are being deleted.
	refusedStatuses map[types.NamespacedName]refusedStatus
}

// refusedStatus is the refused status of an object, which may be another one of the same name.
type refusedStatus struct {
	uid types.UID
	controller.RefusedStatus
}

// drainRecord is since when the slices of a deleted object are terminating.
type drainRecord struct {
	uid   types.UID
	began time.Time
}

// get returns the state of an object. isNew means that it was just made: the object was never seen, or is
// another one of the same name.
func (s *stateStore) get(key types.NamespacedName, uid types.UID, now time.Time) (state *objectState, isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, ok := s.byKey[key]
	if ok && state.uid == uid {
		return state, false
	}
	if s.byKey == nil {
		s.byKey = map[types.NamespacedName]*objectState{}
	}
	state = &objectState{uid: uid, firstSeen: now}
	s.byKey[key] = state
	return state, true
}

// has reports whether there is a state of an object.
func (s *stateStore) has(key types.NamespacedName, uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, ok := s.byKey[key]
	return ok && state.uid == uid
}

// clusterIP returns the address that the Service of an object was last seen with, or nothing.
func (s *stateStore) clusterIP(key types.NamespacedName, uid types.UID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state, ok := s.byKey[key]; ok && state.uid == uid {
		return state.clusterIP
	}
	return ""
}

func (s *stateStore) drop(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byKey, key)
}

// recordDrain stores that slices were written as terminating now.
func (s *stateStore) recordDrain(key types.NamespacedName, uid types.UID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drains == nil {
		s.drains = map[types.NamespacedName]drainRecord{}
	}
	s.drains[key] = drainRecord{uid, now}
}

// drainStart returns since when the slices are terminating, or zero if this process did not write them.
func (s *stateStore) drainStart(key types.NamespacedName, uid types.UID) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.drains[key]; d.uid == uid {
		return d.began
	}
	return time.Time{}
}

// dropDeleted drops an object that is deleted.
func (s *stateStore) dropDeleted(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.drains, key)
	delete(s.refusedStatuses, key)
}

// refusedStatus returns the refusals of an object's status, of which there may be none.
func (s *stateStore) refusedStatus(es *networkingv1.ExternalService) controller.RefusedStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused := s.refusedStatuses[client.ObjectKeyFromObject(es)]; refused.uid == es.UID {
		return refused.RefusedStatus
	}
	return controller.RefusedStatus{}
}

func (s *stateStore) setRefusedStatus(es *networkingv1.ExternalService, refused controller.RefusedStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused == (controller.RefusedStatus{}) {
		delete(s.refusedStatuses, client.ObjectKeyFromObject(es))
		return
	}
	if s.refusedStatuses == nil {
		s.refusedStatuses = map[types.NamespacedName]refusedStatus{}
	}
	s.refusedStatuses[client.ObjectKeyFromObject(es)] = refusedStatus{es.UID, refused}
}

// keys returns all objects.
func (s *stateStore) keys() []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make([]types.NamespacedName, 0, len(s.byKey))
	for key := range s.byKey {
		keys = append(keys, key)
	}
	return keys
}

// sliceWrite is a write of an EndpointSlice, or its deletion where version is empty.
type sliceWrite struct {
	version string
	at      time.Time
}

// recordSliceWrite stores a write until the cache has it.
func (s *objectState) recordSliceWrite(name, version string, now time.Time) {
	if s.sliceWrites == nil {
		s.sliceWrites = map[string]sliceWrite{}
	}
	s.sliceWrites[name] = sliceWrite{version, now}
}

// cacheStale reports whether the cache lacks a write of this process. A decision on what it has would undo
// that write, or fail with a conflict.
func (s *objectState) cacheStale(current []*discoveryv1.EndpointSlice, now time.Time) bool {
	stale := false
	for name, w := range s.sliceWrites {
		if now.Sub(w.at) < controller.StaleTimeout && !w.isCached(findSlice(current, name)) {
			stale = true
			continue
		}
		delete(s.sliceWrites, name)
	}
	return stale
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

// recordStatusWrite stores a write of an object's status.
func (s *stateStore) recordStatusWrite(es *networkingv1.ExternalService, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.byKey[client.ObjectKeyFromObject(es)]; m != nil && m.uid == es.UID {
		m.statusWrite.Record(es, now)
		writeDamping.add(&m.statusWriteRate, 1, now)
	}
}

// wroteStatus reports whether the last write of the status by this process made this version of the object.
func (s *stateStore) wroteStatus(es *networkingv1.ExternalService) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.byKey[client.ObjectKeyFromObject(es)]
	return m != nil && m.uid == es.UID && m.statusWrite.Is(es)
}

// statusCacheStale reports whether an object of the cache lacks the last status that this process wrote. A
// write based on it would fail with a conflict, and one that restores the status before would be left out.
func (s *stateStore) statusCacheStale(es *networkingv1.ExternalService, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.byKey[client.ObjectKeyFromObject(es)]
	return m != nil && m.uid == es.UID && m.statusWrite.NewerThan(es, now)
}

// previousState is what an earlier process has left in the EndpointSlices and the status. Slices are written
// first: where the two disagree the slices are right.
type previousState struct {
	status    *networkingv1.ExternalServiceStatus
	published map[publishedKey]bool // and whether it is ready
	// active is the priority that is published, or nil.
	active *int32
	// panicking means that all is published as ready since no address is healthy.
	panicking bool
	// statusOutdated means that the status was not written after the slices were: its health of other
	// priorities is out of date.
	statusOutdated bool
}

// publishedKey is an address with its ports in the slices.
type publishedKey struct {
	ip     netip.Addr
	digest string
}

// previousStateOf returns the state that slices and status hold.
func previousStateOf(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, all []resolvedEndpoint) *previousState {
	p := &previousState{status: &es.Status, active: es.Status.ActivePriority, published: map[publishedKey]bool{}}
	for _, slice := range current {
		digest := slicePortDigest(slice)
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			if ip, err := netip.ParseAddr(e.Addresses[0]); err == nil {
				p.published[publishedKey{ip, digest}] = ptr.Deref(e.Conditions.Ready, true)
			}
		}
	}
	if f := es.Status.Fault; f.Lasts() { // what is published says nothing about health
		return &previousState{status: &es.Status, active: f.Priority}
	}
	counts := map[int32]int{}
	forEachActive(all, func(e *resolvedEndpoint, a *address) {
		if _, ok := p.published[publishedKey{a.ip, a.ports.digest}]; ok {
			counts[e.priority]++
		}
	})
	most := ptr.Deref(p.active, -1)
	for priority := range int32(numPriorities) {
		if counts[priority] > counts[most] {
			most = priority
		}
	}
	if most >= 0 && (p.active == nil || most != *p.active) {
		p.active, p.statusOutdated = &most, true
	}
	a := es.Status.Addresses
	p.panicking = !p.statusOutdated && es.Spec.HealthCheck != nil && a != nil && a.Healthy == 0 && a.Published > 0
	return p
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

// healthSeed returns the health of an address, or nil where it is not known.
func (p *previousState) healthSeed(e *resolvedEndpoint, a *address) *probe.Seed {
	var stored networkingv1.AddressHealth
	var since time.Time
	if status := p.storedAddress(e.Name, a); status != nil {
		stored = status.Health
		if status.Since != nil {
			since = status.Since.Time
		}
	}
	state := stored
	ready, published := p.published[publishedKey{a.ip, a.ports.digest}]
	published = published && p.active != nil && *p.active == e.priority
	switch {
	case published && ready && !p.panicking:
		state = networkingv1.AddressHealthy
	case published && !ready && stored != networkingv1.AddressUnknown:
		state = networkingv1.AddressUnhealthy
	case !published && p.statusOutdated:
		return nil
	}
	if state != networkingv1.AddressHealthy && state != networkingv1.AddressUnhealthy {
		return nil
	}
	if state != stored {
		since = time.Time{}
	}
	return &probe.Seed{State: state, Since: since}
}

// storedAddress returns an address of the status that has a health: that of the endpoint, or else of any other, since
// an endpoint may have been renamed. Only SRV records have a port there; one without is of any.
func (p *previousState) storedAddress(endpoint string, a *address) *networkingv1.AddressStatus {
	ip, port := a.ip.String(), int32(a.srvPort)
	var best *networkingv1.AddressStatus
	bestRank := 0
	for i := range p.status.Endpoints {
		e := &p.status.Endpoints[i]
		for j := range e.Addresses {
			is, rank := &e.Addresses[j], 1
			switch {
			case is.IP != ip, is.Health == "", is.Port != port && is.Port != 0 && port != 0:
				continue
			case is.Port == port && e.Name == endpoint:
				rank = 3
			case is.Port == port:
				rank = 2
			}
			if rank > bestRank {
				best, bestRank = is, rank
			}
		}
	}
	return best
}
