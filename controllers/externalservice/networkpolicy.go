// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"

	discoveryv1 "k8s.io/api/discovery/v1"
	netv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// errForeignNetworkPolicy means that a NetworkPolicy of another owner has the name.
var errForeignNetworkPolicy = errors.New("a NetworkPolicy of this name exists that was not made for this ExternalService: delete it, or rename one of the two")

// errNotAllowed means that a slice waits for the NetworkPolicy. The error of the NetworkPolicy has the cause.
var errNotAllowed = errors.New("the NetworkPolicy does not allow all of its addresses yet")

// networkPolicyOf returns the NetworkPolicy of an object, or nil. It belongs to the cache and must not be changed. Where the
// cache has none, since the operator may not list them, it is read for an object that is to have one, so that the error is in
// the words of the API server.
func (r *Reconciler) networkPolicyOf(ctx context.Context, es *networkingv1.ExternalService) (*netv1.NetworkPolicy, error) {
	from := client.Reader(r.Client)
	if r.CachesNetworkPolicies != nil && !r.CachesNetworkPolicies(ctx) {
		if es.Spec.NetworkPolicy == nil {
			return nil, nil
		}
		from = r.Live
	}
	policy := &netv1.NetworkPolicy{}
	key := client.ObjectKey{Namespace: es.Namespace, Name: rules.NetworkPolicyName(es.Name)}
	err := from.Get(ctx, key, policy, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read NetworkPolicy: %w", err)
	case !publication.IsNetworkPolicyOf(policy, es.Name):
		return nil, nil // applying it finds that out
	}
	return policy, nil
}

// destinations returns what the NetworkPolicy is to allow: each address of the spec that the egress policy allows, whatever its
// health and priority, since a failover must not wait for a write, and what slices have. Where some name was not looked up yet,
// nothing that is allowed goes.
func (r *reconciliation) destinations(current []*discoveryv1.EndpointSlice) publication.Destinations {
	to, isPartial := publication.Destinations{}, r.input.Observed.IsPolicyUnsynced
	for i := range r.input.Observed.Endpoints {
		e := &r.input.Observed.Endpoints[i]
		isPartial = isPartial || e.State != nil && !e.State.LookedUp
		for j := range e.Addresses {
			if a := &e.Addresses[j]; a.DeniedReason == "" {
				to.Add(a.IP, a.Ports.Ports)
			}
		}
	}
	for _, slice := range current {
		to.AddSlice(slice)
	}
	if isPartial {
		to.AddAll(publication.DestinationsIn(r.policy))
	}
	return to
}

// widen has the NetworkPolicy allow each address that is known, besides all that it allows: long before most are published. One
// that the spec does not have any more goes.
func (r *reconciliation) widen(ctx context.Context) {
	switch {
	case r.isStale || r.service == nil:
	case r.es.Spec.NetworkPolicy == nil:
		r.removeNetworkPolicy(ctx)
	default:
		to := r.destinations(r.current)
		to.AddAll(publication.DestinationsIn(r.policy))
		r.applyNetworkPolicy(ctx, to)
	}
}

// allow has the NetworkPolicy allow what a slice has and no slice had before, which is written after that. The error is
// errNotAllowed where it cannot be written.
func (r *reconciliation) allow(ctx context.Context, s *publication.Slice) error {
	to, wanted := publication.DestinationsIn(r.policy), s.Destinations()
	for _, held := range r.held() {
		to.AddSlice(held)
	}
	if to.HasAll(wanted) {
		return nil
	}
	if to.AddAll(wanted); r.es.Spec.NetworkPolicy == nil {
		r.removeNetworkPolicy(ctx)
	} else {
		r.applyNetworkPolicy(ctx, to)
	}
	if r.isNetworkPolicyRefused {
		return errNotAllowed
	}
	return nil
}

// narrow has the NetworkPolicy allow what is left, once no slice has the rest.
func (r *reconciliation) narrow(ctx context.Context) {
	if !r.isStale && r.service != nil && r.es.Spec.NetworkPolicy != nil {
		r.applyNetworkPolicy(ctx, r.destinations(r.held()))
	}
}

// isLimited reports whether pods may be limited to what a NetworkPolicy allows. A dry run that there is not yet limits none.
func (r *reconciliation) isLimited() bool {
	of := r.es.Spec.NetworkPolicy
	return r.policy != nil || of != nil && !*of.DryRun
}

// removeNetworkPolicy removes the NetworkPolicy, if there is one.
func (r *reconciliation) removeNetworkPolicy(ctx context.Context) {
	if r.policy == nil || r.isNetworkPolicyRefused {
		return
	}
	err := r.Client.Delete(ctx, r.policy.DeepCopy(), client.Preconditions{UID: &r.policy.UID, ResourceVersion: &r.policy.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		r.isNetworkPolicyRefused = true
		r.refusals.add(fmt.Errorf("delete NetworkPolicy %s: %w", r.policy.Name, err))
		return
	}
	r.state.recordWrite(r.policy.Name, "", r.Now())
	r.policy = nil
}

// held returns the slices as they are now.
func (r *reconciliation) held() []*discoveryv1.EndpointSlice {
	if r.writer == nil {
		return r.current
	}
	return r.writer.current()
}

// applyNetworkPolicy writes the NetworkPolicy if it differs.
func (r *reconciliation) applyNetworkPolicy(ctx context.Context, to publication.Destinations) {
	wanted := publication.NetworkPolicy(r.es, r.service, to)
	if r.isNetworkPolicyRefused || publication.IsNetworkPolicy(r.policy, wanted) {
		return
	}
	applied, err := r.writeNetworkPolicy(ctx, r.es.Name, r.policy, wanted)
	if err != nil {
		r.isNetworkPolicyRefused = true
		r.refusals.add(fmt.Errorf("apply NetworkPolicy %s: %w", wanted.Name, err))
		return
	}
	r.policy = applied
	r.state.recordWrite(applied.Name, applied.ResourceVersion, r.Now())
}

// writeNetworkPolicy applies a NetworkPolicy of an ExternalService and returns it as it is then. One that the cache does not
// have may have lost its labels.
func (r *Reconciler) writeNetworkPolicy(
	ctx context.Context, name string, current, wanted *netv1.NetworkPolicy,
) (*netv1.NetworkPolicy, error) {
	given, err := publication.NetworkPolicyConfiguration(wanted)
	if err != nil {
		return nil, err
	}
	version := onlyCreate
	if current != nil {
		version = current.ResourceVersion
	}
	err = r.apply(ctx, given.WithResourceVersion(version))
	if current == nil && apierrors.IsConflict(err) {
		stray := &netv1.NetworkPolicy{}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(wanted), stray); err != nil {
			return nil, err
		}
		unlabelled := stray.DeepCopy()
		unlabelled.Labels = wanted.Labels
		if !publication.IsNetworkPolicyOf(unlabelled, name) {
			return nil, errForeignNetworkPolicy
		}
		err = r.apply(ctx, given.WithResourceVersion(stray.ResourceVersion))
	}
	if err != nil {
		return nil, err
	}
	applied := wanted.DeepCopy()
	applied.UID, applied.ResourceVersion = ptr.Deref(given.UID, ""), ptr.Deref(given.ResourceVersion, "")
	return applied, nil
}

// removeDeniedDestinations has the NetworkPolicy of an object that is otherwise left as it is not allow what the egress policy
// denies.
func (r *Reconciler) removeDeniedDestinations(
	ctx context.Context, es *networkingv1.ExternalService, policy *netv1.NetworkPolicy, state *objectState, refused *refusals,
) {
	to, isDenied := publication.DestinationsIn(policy), endpoints.DeniedNow(es, r.Policy)
	before := len(to)
	maps.DeleteFunc(to, func(ip netip.Addr, ports publication.DestinationPorts) bool { return isDenied(ip, ports.Numbers()) })
	if len(to) == before {
		return
	}
	applied, err := r.writeNetworkPolicy(ctx, es.Name, policy, publication.NetworkPolicyWith(policy, to))
	if refused.add(err); err == nil {
		state.recordWrite(applied.Name, applied.ResourceVersion, r.Now())
	}
}
