// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/controllers/internal/controller"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// observation are what is known of the outside of one object.
type observation struct {
	endpoints []resolvedEndpoint
	// incomplete says that something is not known yet without which slices must not be changed: a
	// name was never looked up, or the policy cannot judge, which unsynced says.
	incomplete, policyUnsynced bool
	// suspect says that failures decide nothing now.
	suspect bool
	// uncheckedReason is why nothing is checked, as a sentence; empty where checks run.
	uncheckedReason string
	// requeueAt is when to look again although nothing will have changed. Zero if never.
	requeueAt time.Time
}

// observe looks at everything outside that the object names, and has it looked up and checked from
// now on.
func (r *Reconciler) observe(ctx context.Context, es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, m *objectState) observation {
	key := client.ObjectKeyFromObject(es)
	var f observation
	states := r.Resolution.Set(key, resolutionNames(es, m.namesSeeded))
	m.namesSeeded = true
	f.endpoints, f.policyUnsynced = resolveEndpoints(es, states, r.Policy)
	f.incomplete = f.policyUnsynced || awaitsLookup(f.endpoints)

	var left *previousState
	if !m.decided || es.Spec.HealthCheck != nil && !m.targetsSeeded {
		left = previousStateOf(es, current, f.endpoints)
	}
	if !m.decided {
		m.active, m.panicking = left.active, left.panicking
	}
	if es.Spec.HealthCheck == nil {
		r.Probes.Forget(key)
		m.targetsSeeded = false
		forEachActive(f.endpoints, func(_ *resolvedEndpoint, a *address) { a.health.State = networkingv1.AddressHealthy })
		return f
	}
	if f.policyUnsynced {
		return f // addresses that are denied for the moment would lose their health
	}
	var roots []byte
	if name := caSecretOf(es.Spec.HealthCheck); name != "" {
		ca := r.caBundles.get(ctx, types.NamespacedName{Namespace: es.Namespace, Name: name})
		f.requeueAt = ca.due
		if ca.problem != "" {
			f.uncheckedReason = fmt.Sprintf("nothing is checked: Secret %s, which healthCheck.tls.caSecretName names, %s", name, ca.problem)
			r.keepHealth(es, current, &f, m)
			return f
		}
		roots = ca.roots
	}
	setTargets(r.Probes, key, checkOf(es.Spec.HealthCheck, roots), f.endpoints, left)
	m.targetsSeeded = true
	f.requeueAt = controller.Earliest(f.requeueAt, dampFlaps(f.endpoints, m, r.Now()))
	f.suspect = r.Probes.IsFrozen(key)
	if !f.suspect && inheritsSuspicion(es, f.endpoints) {
		f.suspect, f.requeueAt = true, controller.Earliest(f.requeueAt, r.Now().Add(firstProbeGrace(es.Spec.HealthCheck)))
	}
	return f
}

// inheritsSuspicion says whether a suspicion of an earlier process still stands: nothing of the object was
// checked by this one, which has not had the time to find out that, say, no nameserver answers.
func inheritsSuspicion(es *networkingv1.ExternalService, all []resolvedEndpoint) bool {
	healthy := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionHealthy)
	if healthy == nil || healthy.Reason != networkingv1.ReasonProbeSelfSuspect {
		return false
	}
	checked := false
	forEachActive(all, func(_ *resolvedEndpoint, a *address) { checked = checked || !a.health.LastProbe.IsZero() })
	return !checked
}

// setTargets has the addresses checked, and takes down what is known of each. What was left counts for
// addresses that are new to the prober.
func setTargets(probes Probes, key types.NamespacedName, how probe.Check, all []resolvedEndpoint, left *previousState) {
	n := 0
	forEachActive(all, func(*resolvedEndpoint, *address) { n++ })
	targets := make([]probe.Target, 0, n)
	forEachActive(all, func(s *resolvedEndpoint, a *address) {
		target := probe.Target{
			Endpoint: s.Name, IP: a.ip, Port: a.ports.probePort, Host: s.defaultHost(), Authorized: s.approved,
		}
		if left != nil {
			target.Seed = left.healthSeed(s, a)
		}
		targets = append(targets, target)
	})
	health := probes.Set(key, how, targets)
	forEachActive(all, func(_ *resolvedEndpoint, a *address) {
		if len(health) > 0 {
			a.health, health = health[0], health[1:]
		}
	})
}

// keepHealth takes what stands in the cluster for the health of each address, since none can be checked.
// What is new stays unknown, and is not published as ready.
func (r *Reconciler) keepHealth(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, f *observation, m *objectState) {
	r.Probes.Forget(client.ObjectKeyFromObject(es))
	m.targetsSeeded = false
	f.suspect = true
	left := previousStateOf(es, current, f.endpoints)
	now := r.Now()
	forEachActive(f.endpoints, func(s *resolvedEndpoint, a *address) {
		a.health = probe.Health{State: networkingv1.AddressUnknown, Since: now}
		if seed := left.healthSeed(s, a); seed != nil {
			a.health = probe.Health{State: seed.State, Since: seed.Since}
		}
		if a.health.Since.IsZero() {
			a.health.Since = now
		}
	})
}
