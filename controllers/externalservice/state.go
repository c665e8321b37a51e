// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// objectState is what this process keeps of one object beyond the API server. It has no lock: no object is
// reconciled twice at the same time.
type objectState struct {
	uid types.UID
	// clusterIP is that of the Service when it was last seen: a cached status may not have it yet.
	clusterIP string
	// families are those of the Service when it was last seen, and nil where they decide nothing.
	families []corev1.IPFamily
	// seededGeneration is that of the spec whose names Resolution has got the seeds of, and targetsSeeded means that
	// Probes has got its own.
	seededGeneration int64
	targetsSeeded    bool
	// failover is what decisions remember, and confirmedFault the request of the fault that was read from the API server.
	failover       failover.State
	confirmedFault string
	// sliceWrites are the writes of slices that the cache does not show yet.
	sliceWrites map[string]sliceWrite
	// statusWrite is the last write of the status.
	statusWrite controller.LastWrite
	// refused is how many reconciles in a row had a write that failed, and refusal the errors of the last one.
	refused int
	refusal string
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
	state = &objectState{uid: uid, failover: failover.State{FirstSeen: now}}
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
		if now.Sub(w.at) < controller.StaleTimeout && !w.isCached(publication.FindSlice(current, name)) {
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
		m.failover.StatusWrites.Count(now)
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

// Reconciler reconciles ExternalServices.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Secrets reads the Secrets that health checks name.
	Secrets client.Reader
	// Events go on the ExternalService.
	Events recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Resolution, Probes and Policy are the sources of addresses, of their health, and of permission.
	Resolution Resolution
	Probes     Probes
	Policy     endpoints.Policy
	// DrainPeriod is how long the endpoints of a deleted object are terminating.
	DrainPeriod time.Duration
	// Freeze holds the blackouts of the cluster, during which no fault is injected.
	Freeze *freeze.Freeze
	// WebhookExemptNamespaces are the namespaces that the webhooks are not called for. No fault is injected in
	// them.
	WebhookExemptNamespaces []string

	caBundles *caBundles
	metrics   *metrics
	states    *stateStore
}

func newReconciler(r Reconciler) *Reconciler {
	r.caBundles = &caBundles{reader: r.Secrets, now: r.Now}
	r.metrics = newMetrics(r.Now, r.Resolution)
	r.states = &stateStore{}
	return &r
}

// forget stops lookups and checks of an object, and drops its state and metrics.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.Resolution.Forget(key)
	r.Probes.Forget(key)
	r.states.drop(key)
	r.metrics.drop(key)
}

// Resolution keeps the addresses of DNS names.
type Resolution interface {
	// Set replaces the names of an object, and returns the state of each, in order.
	Set(key types.NamespacedName, names []resolution.Name) []resolution.State
	// ResolvedTime returns when a name last resolved. A lookup that changes nothing enqueues nothing.
	ResolvedTime(key types.NamespacedName, name resolution.Name) time.Time
	// Forget drops the names of an object.
	Forget(key types.NamespacedName)
}

// Probes keep the health of addresses.
type Probes interface {
	// Set replaces the targets of an object, and returns the health of each, in order.
	Set(key types.NamespacedName, check probe.Check, targets []probe.Target) []probe.Health
	// Forget drops the targets of an object.
	Forget(key types.NamespacedName)
	// IsFrozen reports whether failures do not change the health of an object's targets now.
	IsFrozen(key types.NamespacedName) bool
}
