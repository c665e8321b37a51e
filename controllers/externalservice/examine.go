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

// findings are what is known of the outside of one object.
type findings struct {
	sites []site
	// waiting says that something is not known yet without which slices must not be changed: a
	// name was never looked up, or the policy cannot judge, which unsynced says.
	waiting, unsynced bool
	// suspect says that failures decide nothing now.
	suspect bool
	// fault is why nothing is checked, as a sentence; empty where checks run.
	fault string
	// again is when to look again although nothing will have changed. Zero if never.
	again time.Time
}

// examine looks at everything outside that the object names, and has it looked up and checked from
// now on.
func (r *Reconciler) examine(ctx context.Context, es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, m *memory) findings {
	key := client.ObjectKeyFromObject(es)
	var f findings
	states := r.Resolution.Set(key, names(es, m.resolved))
	m.resolved = true
	f.sites, f.unsynced = sites(es, states, r.Policy)
	f.waiting = f.unsynced || unsettled(f.sites)

	var left *legacy
	if !m.decided || es.Spec.HealthCheck != nil && !m.probed {
		left = legacyOf(es, current, f.sites)
	}
	if !m.decided {
		m.active, m.panicking = left.active, left.panicking
	}
	if es.Spec.HealthCheck == nil {
		r.Probes.Forget(key)
		m.probed = false
		active(f.sites, func(_ *site, a *address) { a.health.State = networkingv1.AddressHealthy })
		return f
	}
	if f.unsynced {
		return f // addresses that are denied for the moment would lose their health
	}
	var roots []byte
	if name := caSecretOf(es.Spec.HealthCheck); name != "" {
		ca := r.authorities.of(ctx, types.NamespacedName{Namespace: es.Namespace, Name: name})
		f.again = ca.due
		if ca.fault != "" {
			f.fault = fmt.Sprintf("nothing is checked: Secret %s, which healthCheck.tls.caSecretName names, %s", name, ca.fault)
			r.freeze(es, current, &f, m)
			return f
		}
		roots = ca.roots
	}
	check(r.Probes, key, checkOf(es.Spec.HealthCheck, roots), f.sites, left)
	m.probed = true
	f.again = controller.Earliest(f.again, damp(f.sites, m, r.Now()))
	f.suspect = r.Probes.IsFrozen(key)
	if !f.suspect && inherits(es, f.sites) {
		f.suspect, f.again = true, controller.Earliest(f.again, r.Now().Add(patience(es.Spec.HealthCheck)))
	}
	return f
}

// inherits says whether a suspicion of an earlier process still stands: nothing of the object was
// checked by this one, which has not had the time to find out that, say, no nameserver answers.
func inherits(es *networkingv1.ExternalService, all []site) bool {
	healthy := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionHealthy)
	if healthy == nil || healthy.Reason != networkingv1.ReasonProbeSelfSuspect {
		return false
	}
	checked := false
	active(all, func(_ *site, a *address) { checked = checked || !a.health.LastProbe.IsZero() })
	return !checked
}

// check has the addresses checked, and takes down what is known of each. What was left counts for
// addresses that are new to the prober.
func check(probes Probes, key types.NamespacedName, how probe.Check, all []site, left *legacy) {
	n := 0
	active(all, func(*site, *address) { n++ })
	targets := make([]probe.Target, 0, n)
	active(all, func(s *site, a *address) {
		target := probe.Target{
			Endpoint: s.Name, IP: a.ip, Port: a.ports.probe, Host: s.host(), Authorized: s.approved,
		}
		if left != nil {
			target.Seed = left.seed(s, a)
		}
		targets = append(targets, target)
	})
	health := probes.Set(key, how, targets)
	active(all, func(_ *site, a *address) {
		if len(health) > 0 {
			a.health, health = health[0], health[1:]
		}
	})
}

// freeze takes what stands in the cluster for the health of each address, since none can be checked.
// What is new stays unknown, and is not published as ready.
func (r *Reconciler) freeze(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, f *findings, m *memory) {
	r.Probes.Forget(client.ObjectKeyFromObject(es))
	m.probed = false
	f.suspect = true
	left := legacyOf(es, current, f.sites)
	now := r.Now()
	active(f.sites, func(s *site, a *address) {
		a.health = probe.Health{State: networkingv1.AddressUnknown, Since: now}
		if seed := left.seed(s, a); seed != nil {
			a.health = probe.Health{State: seed.State, Since: seed.Since}
		}
		if a.health.Since.IsZero() {
			a.health.Since = now
		}
	})
}
