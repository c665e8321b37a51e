// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/apistatus"
	"github.com/fairlead-dev/fairlead/internal/probe"
	"github.com/fairlead-dev/fairlead/internal/rules"
	esrules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// observe sets what is looked up and checked for an object, and returns what is known of it.
func (r *Reconciler) observe(
	ctx context.Context, es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, edited endpoints.Edits, state *objectState,
) failover.Input {
	in := failover.Input{
		Now: r.Now(), Object: es, Slices: current, Observed: r.observeEndpoints(ctx, es, current, edited, state),
		Dependants: r.dependants(ctx, es), Blackouts: r.Freeze.State(), IsExempt: slices.Contains(r.WebhookExemptNamespaces, es.Namespace),
	}
	if in.Observed.AwaitsAny() {
		in.Held = endpoints.HeldIn(es, current, r.Policy, false)
	}
	return in
}

func (r *Reconciler) observeEndpoints(
	ctx context.Context, es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, edited endpoints.Edits, state *objectState,
) failover.Observation {
	key := client.ObjectKeyFromObject(es)
	var o failover.Observation
	var seeds map[string]endpoints.Seed
	isEdited := state.seededGeneration != es.Generation
	if isEdited {
		seeds = endpoints.Seeds(es, current, r.Now())
		state.seededGeneration = es.Generation
	}
	states := r.Resolution.Set(key, endpoints.Names(es, seeds, r.Policy, state.families))
	o.Endpoints, o.IsPolicyUnsynced = endpoints.Resolve(es, states, r.Policy)
	endpoints.DropUnreachable(o.Endpoints, state.families)
	o.IsIncomplete = o.IsPolicyUnsynced || endpoints.AwaitLookup(o.Endpoints)

	var previous *endpoints.Previous
	if !state.failover.IsDecided || es.Spec.HealthCheck != nil && (isEdited || !state.targetsSeeded) {
		previous = endpoints.PreviousOf(es, current, o.Endpoints, edited)
	}
	if !state.failover.IsDecided {
		state.failover.Adopt(previous)
	}
	if es.Spec.HealthCheck == nil {
		r.Probes.Forget(key)
		state.targetsSeeded = false
		for _, a := range endpoints.Active(o.Endpoints) {
			a.Health.State = networkingv1.AddressHealthy
		}
		return o
	}
	if o.IsPolicyUnsynced {
		return o // addresses that are denied until the policy has synced would lose their health
	}
	if !r.check(ctx, es, &o, state.failover.Active, previous) {
		r.keepHealth(es, current, edited, &o, state)
		return o
	}
	state.targetsSeeded = true
	o.RequeueAt = controller.Earliest(o.RequeueAt, state.failover.Damp(&probe.Check{Check: es.Spec.HealthCheck.Check}, o.Endpoints, r.Now()))
	o.IsSuspect = r.Probes.IsFrozen(key)
	if !o.IsSuspect && inheritsSuspicion(es, o.Endpoints) {
		o.IsSuspect = true
		o.RequeueAt = controller.Earliest(o.RequeueAt, r.Now().Add(failover.FirstProbeGrace(es.Spec.HealthCheck)))
	}
	return o
}

// check has the addresses checked, and sets the health of each. active is the priority that is published, or nil. It is false
// where a Secret is lacking that the check needs.
func (r *Reconciler) check(
	ctx context.Context, es *networkingv1.ExternalService, o *failover.Observation, active *int32, previous *endpoints.Previous,
) bool {
	h, at := es.Spec.HealthCheck, field.NewPath("healthCheck")
	if slices.Contains(r.WebhookExemptNamespaces, es.Namespace) && slices.ContainsFunc(rules.CheckSecrets(at, &h.Check), isCredential) {
		o.UncheckedReason = "nothing is checked: in namespace " + es.Namespace +
			" no admission webhook asks whether the writer may read the credentials of healthCheck; leave sendFrom and clientCertificateSecretName out"
		return false
	}
	content := r.secrets.Of(ctx, es.Namespace, at, &h.Check, time.Time{})
	how := probe.Check{
		Check: h.Check, UnhealthyInterval: h.UnhealthyInterval.Or(0), JitterPercent: int(*h.JitterPercent), Secrets: content.Secrets,
	}
	if content.Problem == "" {
		setTargets(r.Probes, client.ObjectKeyFromObject(es), how, o.Endpoints, active, previous, r.Now())
		// A Secret that was rotated is found by the first check that fails, before more of them decide.
		content = r.secrets.Of(ctx, es.Namespace, at, &h.Check, lastFailure(o.Endpoints))
	}
	if o.RequeueAt = content.Due; content.Problem != "" {
		o.UncheckedReason = "nothing is checked: " + content.Problem
		return false
	}
	if !content.Equal(&how.Secrets) {
		how.Secrets = content.Secrets
		setTargets(r.Probes, client.ObjectKeyFromObject(es), how, o.Endpoints, active, previous, r.Now())
	}
	return true
}

func isCredential(s rules.CheckSecret) bool { return s.IsCredential }

// lastFailure returns when the latest check failed of those that are the last of their address; zero for none.
func lastFailure(all []endpoints.Endpoint) (latest time.Time) {
	for _, a := range endpoints.Active(all) {
		if h := &a.Health; h.Reason != "" && h.Reason != networkingv1.ProbeConnected && h.LastProbe.After(latest) {
			latest = h.LastProbe
		}
	}
	return latest
}

// inheritsSuspicion reports whether an earlier process suspected itself, and this one has not checked any
// address of the object yet: it has had no time to find that, say, no nameserver replies.
func inheritsSuspicion(es *networkingv1.ExternalService, all []endpoints.Endpoint) bool {
	healthy := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionHealthy)
	if healthy == nil || healthy.Reason != networkingv1.ReasonProbesInconclusive {
		return false
	}
	for _, a := range endpoints.Active(all) {
		if !a.Health.LastProbe.IsZero() {
			return false
		}
	}
	return true
}

// setTargets has the addresses checked, and sets the health of each. Clients use those of the active priority. Addresses that
// are new to the prober begin with the health of the previous state.
func setTargets(
	probes Probes, key types.NamespacedName, how probe.Check, all []endpoints.Endpoint, active *int32, previous *endpoints.Previous,
	now time.Time,
) {
	var targets []probe.Target
	for e, a := range endpoints.Active(all) {
		target := probe.Target{
			IP: a.IP, Port: a.Ports.ProbePort, Host: e.DefaultHost(), Authorized: e.IsApproved,
			InUse: active != nil && e.Priority == *active,
		}
		if previous != nil {
			target.Seed = previous.HealthSeed(e, a, how.UsesHost())
		}
		targets = append(targets, target)
	}
	health := probes.Set(key, how, targets)
	for _, a := range endpoints.Active(all) {
		if len(health) > 0 {
			a.Health, health = health[0], health[1:]
			a.Changed = now.Add(-a.Health.Age)
		}
	}
}

// keepHealth stops the checks, and takes the health of each address from the slices and the status. New
// addresses are Unknown, and not published as ready.
func (r *Reconciler) keepHealth(
	es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, edited endpoints.Edits,
	o *failover.Observation, state *objectState,
) {
	r.Probes.Forget(client.ObjectKeyFromObject(es))
	state.targetsSeeded = false
	o.IsSuspect = true
	left, check, now := endpoints.PreviousOf(es, current, o.Endpoints, edited), probe.Check{Check: es.Spec.HealthCheck.Check}, r.Now()
	for e, a := range endpoints.Active(o.Endpoints) {
		a.Health = probe.Health{State: networkingv1.AddressUnknown, Since: now}
		if seed := left.HealthSeed(e, a, check.UsesHost()); seed != nil {
			a.Health = probe.Health{State: seed.State, Since: seed.Since}
		}
		if a.Health.Since.IsZero() || a.Health.Since.After(now) {
			a.Health.Since = now
		}
		a.Changed = a.Health.Since
	}
}

// findService reads the Service of an object, which is new to this process or not. The error is errForeignService where
// another owner's has its name.
func (r *Reconciler) findService(ctx context.Context, es *networkingv1.ExternalService, isNew bool) (foundService, error) {
	current := &corev1.Service{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(es), current)
	switch {
	case err == nil && esrules.BelongsTo(current, es):
		return foundService{service: current, ours: true}, nil
	case apierrors.IsNotFound(err) && es.Status.ObservedGeneration <= 0 && isNew:
		return foundService{assumed: true}, nil
	}
	// The cache has only Services with our label, and without their field managers.
	live := &corev1.Service{}
	err = r.Live.Get(ctx, client.ObjectKeyFromObject(es), live)
	switch {
	case apistatus.IsAbsent(err, corev1.Resource("services"), es.Name):
		return foundService{}, nil
	case err != nil:
		return foundService{}, fmt.Errorf("read Service: %w", err)
	case esrules.BelongsTo(live, es):
		return foundService{service: live, ours: true}, nil
	}
	return r.findOrphan(ctx, es, live)
}

// findOrphan returns a Service that is to be made ours, or errForeignService. There are three cases: this object created it
// and the marks of that were removed; an earlier object that is no more did not orphan it; or it did, and this one requests
// it. A user without a right to Services may have one to the status, so that the Service itself or a slice must show who
// created it.
func (r *Reconciler) findOrphan(ctx context.Context, es *networkingv1.ExternalService, live *corev1.Service) (foundService, error) {
	if metav1.GetControllerOf(live) != nil || !live.DeletionTimestamp.IsZero() {
		return foundService{}, errForeignService
	}
	lost := false
	if ref := es.Status.ServiceRef; ref != nil && ref.UID == live.UID {
		current, err := r.currentSlices(ctx, es.Namespace, es.Name)
		if err != nil {
			return foundService{}, err
		}
		lost = publication.WasApplied(live) || slices.ContainsFunc(current,
			func(s *discoveryv1.EndpointSlice) bool { return metav1.IsControlledBy(s, live) })
	}
	switch orphan := esrules.IsOrphan(live); {
	case lost, esrules.IsAbandoned(live, es), orphan && esrules.Adopts(es):
	case orphan:
		return foundService{}, errOrphanedService
	default:
		return foundService{}, errForeignService
	}
	return foundService{service: live, ours: lost, adopt: true}, nil
}

// currentSlices returns our EndpointSlices of a Service, as slicesOf does.
func (r *Reconciler) currentSlices(ctx context.Context, namespace, service string) ([]*discoveryv1.EndpointSlice, error) {
	current, _, err := r.slicesOf(ctx, namespace, service)
	return current, err
}

// slicesOf returns our EndpointSlices of a Service, and the names of those of others that have endpoints, in order. The
// slices are the cache's own and must not be changed. The API server stores no endpoint without an address.
func (r *Reconciler) slicesOf(
	ctx context.Context, namespace, service string,
) (current []*discoveryv1.EndpointSlice, foreign []string, err error) {
	var list discoveryv1.EndpointSliceList
	err = r.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{byService: service}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, nil, fmt.Errorf("list EndpointSlices: %w", err)
	}
	current = make([]*discoveryv1.EndpointSlice, 0, len(list.Items))
	for i := range list.Items {
		slice := &list.Items[i]
		switch {
		case slice.Labels[discoveryv1.LabelManagedBy] == common.ManagedBy:
			current = append(current, slice)
		case len(slice.Endpoints) > 0:
			foreign = append(foreign, slice.Name)
		}
	}
	slices.Sort(foreign)
	return current, foreign, nil
}

// byService indexes EndpointSlices by their Service.
const byService = "metadata.labels.service-name"

func serviceOf(slice client.Object) []string {
	return []string{slice.GetLabels()[discoveryv1.LabelServiceName]}
}

// selectedBy is the value of the label endpointslice.kubernetes.io/managed-by of slices that are made of a selector.
const selectedBy = "endpointslice-controller.k8s.io"
