// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
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

// Where the spec was stored without defaults, these hold.
const (
	interval          = 10 * time.Second
	unhealthyInterval = 30 * time.Second
	timeout           = 2 * time.Second
)

// checkOf is a health check in the prober's terms. roots are the certificates of caSecretName.
func checkOf(h *networkingv1.HealthCheck, roots []byte) probe.Check {
	every := h.Interval.Or(interval)
	check := probe.Check{
		Interval:           every,
		UnhealthyInterval:  h.UnhealthyInterval.Or(unhealthyInterval),
		Timeout:            h.Timeout.Or(min(timeout, every)),
		JitterPercent:      int(ptr.Deref(h.JitterPercent, 10)),
		HealthyThreshold:   int(ptr.Deref(h.HealthyThreshold, 2)),
		UnhealthyThreshold: int(ptr.Deref(h.UnhealthyThreshold, 3)),
	}
	switch {
	case h.HTTP != nil:
		scheme := networkingv1.SchemeHTTP
		if h.TLS != nil {
			scheme = networkingv1.SchemeHTTPS
		}
		check.Kind = probe.KindHTTP
		check.HTTP = probe.HTTP{
			Path: ptr.Deref(h.HTTP.Path, "/"), Host: h.HTTP.Host,
			HTTPS: ptr.Deref(h.HTTP.Scheme, scheme) == networkingv1.SchemeHTTPS,
		}
		for _, r := range h.HTTP.ExpectedStatuses {
			check.HTTP.Statuses = append(check.HTTP.Statuses, [2]int{int(r.Start), int(r.End)})
		}
	case h.GRPC != nil:
		check.Kind = probe.KindGRPC
		check.GRPC = probe.GRPC{Service: h.GRPC.Service, Authority: h.GRPC.Authority}
	default:
		check.Kind = probe.KindTCP
	}
	if h.TLS != nil {
		check.TLS = &probe.TLS{
			ServerName: h.TLS.ServerName, RootPEM: roots, SkipVerify: ptr.Deref(h.TLS.InsecureSkipVerify, false),
		}
	}
	return check
}

// firstProbeGrace is how long an address that was never checked may hold up a decision: by then the first
// result is there.
func firstProbeGrace(h *networkingv1.HealthCheck) time.Duration {
	every := h.Interval.Or(interval)
	return every + h.Timeout.Or(min(timeout, every))
}

// caSecretOf names the Secret whose certificates the check trusts, if it reads any.
func caSecretOf(h *networkingv1.HealthCheck) string {
	if h == nil || h.TLS == nil || ptr.Deref(h.TLS.InsecureSkipVerify, false) {
		return ""
	}
	return h.TLS.CASecretName
}

const (
	// caKey is the entry of a Secret that holds certificates.
	caKey = "ca.crt"
	// caMaxAge is after how long a Secret is read again, while it is used; up to a fifth of it is
	// added at random. Secrets are read and not watched: the operator may see those that
	// it was granted, and no list of them.
	caMaxAge = time.Minute
	// caRetry is the same after a failure.
	caRetry = 15 * time.Second
	// caReadTimeout bounds one read.
	caReadTimeout = 5 * time.Second
	// maxBundles bounds how many are kept, and maxAuthority how large one may be, in bytes.
	maxBundles    = 2048
	maxBundleSize = 256 << 10
)

// caBundles are the certificates of Secrets that health checks trust.
type caBundles struct {
	reader client.Reader
	now    func() time.Time

	mu      sync.Mutex
	bundles map[types.NamespacedName]*caBundle
}

// caBundle is what one Secret says.
type caBundle struct {
	// roots are the last that were good. They are kept while the Secret cannot be read, and not
	// where it says something else: then there is nothing to check against.
	roots []byte
	// problem is the rest of a sentence that begins with the Secret; empty where all is well.
	problem string
	due     time.Time
	used    time.Time
}

// get returns what a Secret says, reading it where that is due.
func (a *caBundles) get(ctx context.Context, secret types.NamespacedName) caBundle {
	now := a.now()
	a.mu.Lock()
	known, ok := a.bundles[secret]
	if ok {
		known.used = now
		if now.Before(known.due) {
			defer a.mu.Unlock()
			return *known
		}
	}
	a.mu.Unlock()

	read := a.read(ctx, secret)
	a.mu.Lock()
	defer a.mu.Unlock()
	if before, ok := a.bundles[secret]; ok && read.roots == nil && read.problem == "" {
		read.roots, read.problem = before.roots, before.problem // it could not be read
	} else if read.roots == nil && read.problem == "" {
		read.problem = "cannot be read"
	}
	read.used = now
	if a.bundles == nil {
		a.bundles = map[types.NamespacedName]*caBundle{}
	}
	a.bundles[secret] = &read
	a.evict(now)
	return read
}

// read asks the API server. Neither roots nor a fault means that it did not answer.
func (a *caBundles) read(ctx context.Context, secret types.NamespacedName) caBundle {
	ctx, cancel := context.WithTimeout(ctx, caReadTimeout)
	defer cancel()
	var object corev1.Secret
	err := a.reader.Get(ctx, secret, &object)
	after := func(wait time.Duration) time.Time {
		return a.now().Add(wait + time.Duration(rand.Int64N(int64(wait/5)))) //nolint:gosec // Jitter is no secret.
	}
	pem := object.Data[caKey]
	switch {
	case apierrors.IsNotFound(err):
		return caBundle{problem: "does not exist", due: after(caRetry)}
	case apierrors.IsForbidden(err):
		return caBundle{problem: "may not be read: grant the operator's service account get on it", due: after(caRetry)}
	case err != nil:
		return caBundle{due: after(caRetry)}
	case len(pem) == 0:
		return caBundle{problem: "has no " + caKey, due: after(caRetry)}
	case len(pem) > maxBundleSize:
		return caBundle{problem: fmt.Sprintf("has a %s of more than %d KiB", caKey, maxBundleSize>>10), due: after(caRetry)}
	case !x509.NewCertPool().AppendCertsFromPEM(pem):
		return caBundle{problem: "has a " + caKey + " without a certificate", due: after(caRetry)}
	}
	return caBundle{roots: pem, due: after(caMaxAge)}
}

// evict drops what was not used for a while, and anything where there is too much.
func (a *caBundles) evict(now time.Time) {
	if len(a.bundles) <= maxBundles/2 {
		return
	}
	for secret, known := range a.bundles {
		if now.Sub(known.used) > 2*caMaxAge || len(a.bundles) > maxBundles {
			delete(a.bundles, secret)
		}
	}
}
