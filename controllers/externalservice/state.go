// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
	"github.com/fairlead-dev/fairlead/controllers/internal/checksecrets"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// objectState is what this process keeps of one object that it publishes, beyond the API server.
type objectState struct {
	// failover is what decisions remember, and confirmedFault the request of the fault that was read from the API server.
	failover       failover.State
	confirmedFault string
	// clusterIP is that of the Service when it was last seen: a cached status may not have it yet.
	clusterIP string
	// families are those of the Service when it was last seen, and nil where they decide nothing.
	families []corev1.IPFamily
	// seededGeneration is that of the spec whose names Resolution has got the seeds of, and targetsSeeded means that
	// Probes has got its own.
	seededGeneration int64
	targetsSeeded    bool
	// writes are the writes of slices and of the NetworkPolicy that the cache does not show yet, by name.
	writes map[string]write
	// refused is how many reconciles in a row had a write that failed, and refusal the errors of the last one.
	refused int
	refusal string
}

// statusState is what this process keeps of the status of one object until the object is gone, also while it is being
// deleted or its Service is another's.
type statusState struct {
	// lastWrite is the last write, and writes how often it was written lately.
	lastWrite controller.LastWrite
	writes    failover.WriteRate
	refused   controller.RefusedStatus
	// drainBegan is when this process has written the slices of a deleted object as terminating; zero where it did not.
	drainBegan time.Time
}

// write is a write of an EndpointSlice or a NetworkPolicy, or its deletion where version is empty.
type write struct {
	version string
	at      time.Time
}

// recordWrite stores a write until the cache has it.
func (s *objectState) recordWrite(name, version string, now time.Time) {
	if s.writes == nil {
		s.writes = map[string]write{}
	}
	s.writes[name] = write{version, now}
}

// cacheStale reports whether the cache lacks a write of this process. A decision on what it has would undo
// that write, or fail with a conflict.
func (s *objectState) cacheStale(current []*discoveryv1.EndpointSlice, policy *netv1.NetworkPolicy, now time.Time) bool {
	stale := false
	for name, w := range s.writes {
		var cached *metav1.ObjectMeta
		if slice := publication.FindSlice(current, name); slice != nil {
			cached = &slice.ObjectMeta
		} else if policy != nil && policy.Name == name {
			cached = &policy.ObjectMeta
		}
		if now.Sub(w.at) < controller.StaleTimeout && !w.isCached(cached) {
			stale = true
			continue
		}
		delete(s.writes, name)
	}
	return stale
}

func (w write) isCached(cached *metav1.ObjectMeta) bool {
	switch {
	case w.version == "":
		return cached == nil || cached.DeletionTimestamp != nil
	case cached == nil:
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, w.version)
	return err != nil || order >= 0
}

// Reconciler reconciles ExternalServices.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// CachesNetworkPolicies reports whether the cache has the NetworkPolicies. Defaults to nil: it has.
	CachesNetworkPolicies func(context.Context) bool
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

	secrets   *checksecrets.Reader
	metrics   *metrics
	states    *controller.States[objectState]
	statuses  *controller.States[statusState]
	ownWrites *controller.OwnWrites
}

func newReconciler(r Reconciler) *Reconciler {
	r.secrets = checksecrets.New(r.Secrets, r.Now)
	r.metrics = newMetrics(r.Now, r.Resolution)
	r.states, r.statuses, r.ownWrites = &controller.States[objectState]{}, &controller.States[statusState]{}, &controller.OwnWrites{}
	return &r
}

// forget stops lookups and checks of an object, and drops its state and metrics.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.Resolution.Forget(key)
	r.Probes.Forget(key)
	r.states.Forget(key)
	r.metrics.drop(key)
}

// stopChecks stops lookups and checks of an object, and keeps of its state what has become of writes.
func (r *Reconciler) stopChecks(es *networkingv1.ExternalService) *objectState {
	key := client.ObjectKeyFromObject(es)
	r.Resolution.Forget(key)
	r.Probes.Forget(key)
	r.metrics.drop(key)
	state := r.states.Get(es)
	*state = objectState{failover: failover.State{FirstSeen: r.Now()}, writes: state.writes, refused: state.refused}
	return state
}

// forgetStatus drops what is kept of the status of an object that is gone.
func (r *Reconciler) forgetStatus(key types.NamespacedName) {
	r.statuses.Forget(key)
	r.ownWrites.Forget(key)
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
