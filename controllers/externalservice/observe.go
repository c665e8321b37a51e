// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/apistatus"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// observe sets what is looked up and checked for an object, and returns what is known of it.
func (r *Reconciler) observe(ctx context.Context, es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, state *objectState) failover.Input {
	in := failover.Input{
		Now: r.Now(), Object: es, Slices: current, Observed: r.observeEndpoints(ctx, es, current, state),
		Dependants: r.dependants(ctx, es), Blackouts: r.Freeze.State(), IsExempt: slices.Contains(r.WebhookExemptNamespaces, es.Namespace),
	}
	if in.Observed.AwaitsAny() {
		in.Held = endpoints.HeldIn(es, current, r.Policy, false)
	}
	return in
}

func (r *Reconciler) observeEndpoints(ctx context.Context, es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, state *objectState) failover.Observation {
	key := client.ObjectKeyFromObject(es)
	var o failover.Observation
	var seeds map[string]endpoints.Seed
	isEdited := state.seededGeneration != es.Generation
	if isEdited {
		seeds = endpoints.Seeds(es, current, r.Now())
		state.seededGeneration = es.Generation
	}
	states := r.Resolution.Set(key, endpoints.Names(es, seeds))
	o.Endpoints, o.IsPolicyUnsynced = endpoints.Resolve(es, states, r.Policy)
	endpoints.DropUnreachable(o.Endpoints, state.families)
	o.IsIncomplete = o.IsPolicyUnsynced || endpoints.AwaitLookup(o.Endpoints)

	var previous *endpoints.Previous
	if !state.failover.IsDecided || es.Spec.HealthCheck != nil && (isEdited || !state.targetsSeeded) {
		previous = endpoints.PreviousOf(es, current, o.Endpoints)
	}
	if !state.failover.IsDecided {
		state.failover.Adopt(previous)
	}
	if es.Spec.HealthCheck == nil {
		r.Probes.Forget(key)
		state.targetsSeeded = false
		endpoints.ForEachActive(o.Endpoints, func(_ *endpoints.Endpoint, a *endpoints.Address) { a.Health.State = networkingv1.AddressHealthy })
		return o
	}
	if o.IsPolicyUnsynced {
		return o // addresses that are denied until the policy has synced would lose their health
	}
	var roots []byte
	if name := caSecretOf(es.Spec.HealthCheck); name != "" {
		ca := r.caBundles.get(ctx, types.NamespacedName{Namespace: es.Namespace, Name: name})
		o.RequeueAt = ca.due
		if ca.problem != "" {
			o.UncheckedReason = fmt.Sprintf("nothing is checked: Secret %s, which healthCheck.tls.caSecretName names, %s", name, ca.problem)
			r.keepHealth(es, current, &o, state)
			return o
		}
		roots = ca.roots
	}
	setTargets(r.Probes, key, checkOf(es.Spec.HealthCheck, roots), o.Endpoints, previous, r.Now())
	state.targetsSeeded = true
	o.RequeueAt = controller.Earliest(o.RequeueAt, state.failover.Damp(o.Endpoints, r.Now()))
	o.IsSuspect = r.Probes.IsFrozen(key)
	if !o.IsSuspect && inheritsSuspicion(es, o.Endpoints) {
		o.IsSuspect, o.RequeueAt = true, controller.Earliest(o.RequeueAt, r.Now().Add(failover.FirstProbeGrace(es.Spec.HealthCheck)))
	}
	return o
}

// inheritsSuspicion reports whether an earlier process suspected itself, and this one has not checked any
// Address of the object yet: it has had no time to find that, say, no nameserver replies.
func inheritsSuspicion(es *networkingv1.ExternalService, all []endpoints.Endpoint) bool {
	healthy := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionHealthy)
	if healthy == nil || healthy.Reason != networkingv1.ReasonProbesInconclusive {
		return false
	}
	checked := false
	endpoints.ForEachActive(all, func(_ *endpoints.Endpoint, a *endpoints.Address) { checked = checked || !a.Health.LastProbe.IsZero() })
	return !checked
}

// setTargets has the addresses checked, and sets the health of each. Addresses that are new to the prober
// begin with that of the previous state.
func setTargets(probes Probes, key types.NamespacedName, how probe.Check, all []endpoints.Endpoint, previous *endpoints.Previous, now time.Time) {
	n := 0
	endpoints.ForEachActive(all, func(*endpoints.Endpoint, *endpoints.Address) { n++ })
	targets := make([]probe.Target, 0, n)
	endpoints.ForEachActive(all, func(e *endpoints.Endpoint, a *endpoints.Address) {
		target := probe.Target{
			IP: a.IP, Port: a.Ports.ProbePort, Host: e.DefaultHost(), Authorized: e.IsApproved,
		}
		if previous != nil {
			target.Seed = previous.HealthSeed(e, a)
		}
		targets = append(targets, target)
	})
	health := probes.Set(key, how, targets)
	endpoints.ForEachActive(all, func(_ *endpoints.Endpoint, a *endpoints.Address) {
		if len(health) > 0 {
			a.Health, health = health[0], health[1:]
			a.Changed = now.Add(-a.Health.Age)
		}
	})
}

// keepHealth stops the checks, and takes the health of each address from the slices and the status. New
// addresses are Unknown, and not published as ready.
func (r *Reconciler) keepHealth(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, o *failover.Observation, state *objectState) {
	r.Probes.Forget(client.ObjectKeyFromObject(es))
	state.targetsSeeded = false
	o.IsSuspect = true
	left := endpoints.PreviousOf(es, current, o.Endpoints)
	now := r.Now()
	endpoints.ForEachActive(o.Endpoints, func(e *endpoints.Endpoint, a *endpoints.Address) {
		a.Health = probe.Health{State: networkingv1.AddressUnknown, Since: now}
		if seed := left.HealthSeed(e, a); seed != nil {
			a.Health = probe.Health{State: seed.State, Since: seed.Since}
		}
		if a.Health.Since.IsZero() || a.Health.Since.After(now) {
			a.Health.Since = now
		}
		a.Changed = a.Health.Since
	})
}

// checkOf returns a health check, which has its defaults, as the prober takes it. roots are the certificates of
// caSecretName.
func checkOf(h *networkingv1.HealthCheck, roots []byte) probe.Check {
	check := probe.Check{
		Interval:           h.Interval.Or(0),
		UnhealthyInterval:  h.UnhealthyInterval.Or(0),
		Timeout:            h.Timeout.Or(0),
		JitterPercent:      int(*h.JitterPercent),
		HealthyThreshold:   int(*h.HealthyThreshold),
		UnhealthyThreshold: int(*h.UnhealthyThreshold),
	}
	switch {
	case h.HTTP != nil:
		check.Kind = probe.KindHTTP
		check.HTTP = probe.HTTP{Path: *h.HTTP.Path, Host: h.HTTP.Host, HTTPS: *h.HTTP.Scheme == networkingv1.SchemeHTTPS}
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
			ServerName: h.TLS.ServerName, RootPEM: roots, SkipVerify: *h.TLS.InsecureSkipVerify,
		}
	}
	return check
}

// caSecretOf returns the name of the Secret whose certificates the check trusts, or "".
func caSecretOf(h *networkingv1.HealthCheck) string {
	if h.TLS == nil || *h.TLS.InsecureSkipVerify {
		return ""
	}
	return h.TLS.CASecretName
}

const (
	// caKey is the key of a Secret with certificates.
	caKey = "ca.crt"
	// caMaxAge is after how long a Secret in use is read again, plus up to a fifth of it at random. Secrets
	// are read and not watched: the operator may get those that it was granted, and may not list any.
	caMaxAge = time.Minute
	// caRetry is the same after a failure.
	caRetry = 15 * time.Second
	// caReadTimeout bounds one read.
	caReadTimeout = 5 * time.Second
	// maxBundles limits how many are kept, and maxBundleSize the bytes of each.
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

// caBundle is the content of one Secret.
type caBundle struct {
	// roots are kept while the Secret cannot be read, and dropped where its content is not valid: then there is
	// nothing to check against.
	roots []byte
	// problem is the rest of a sentence that begins with the Secret, or empty.
	problem string
	// denied means that the API server said that the Secret does not exist, or may not be read. It takes two reads for
	// the roots to be dropped for that: a load balancer may have sent one of them elsewhere.
	denied bool
	due    time.Time
	used   time.Time
}

// get returns the bundle of a Secret, which is read if that is due.
func (b *caBundles) get(ctx context.Context, secret types.NamespacedName) caBundle {
	now := b.now()
	b.mu.Lock()
	known, ok := b.bundles[secret]
	if ok {
		known.used = now
		if now.Before(known.due) {
			defer b.mu.Unlock()
			return *known
		}
	}
	b.mu.Unlock()

	read := b.read(ctx, secret)
	b.mu.Lock()
	defer b.mu.Unlock()
	before, ok := b.bundles[secret]
	if ok && (read.roots == nil && read.problem == "" || read.denied && !before.denied && before.roots != nil) {
		read.roots, read.problem = before.roots, before.problem
	} else if read.roots == nil && read.problem == "" {
		read.problem = "cannot be read"
	}
	read.used = now
	if b.bundles == nil {
		b.bundles = map[types.NamespacedName]*caBundle{}
	}
	b.bundles[secret] = &read
	b.evict(now)
	return read
}

// read reads the Secret. Neither roots nor a problem means that the API server did not respond to that.
func (b *caBundles) read(ctx context.Context, secret types.NamespacedName) caBundle {
	ctx, cancel := context.WithTimeout(ctx, caReadTimeout)
	defer cancel()
	var object corev1.Secret
	err := b.reader.Get(ctx, secret, &object)
	after := func(wait time.Duration) time.Time {
		return b.now().Add(wait + time.Duration(rand.Int64N(int64(wait/5)))) //nolint:gosec // Jitter is no secret.
	}
	pem := object.Data[caKey]
	switch {
	case apistatus.IsAbsent(err, corev1.Resource("secrets"), secret.Name):
		return caBundle{denied: true, problem: "does not exist", due: after(caRetry)}
	case apierrors.IsForbidden(err):
		return caBundle{denied: true, problem: "may not be read: grant the operator's service account get on it", due: after(caRetry)}
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

// evict drops bundles that were not used lately, and any where there are too many.
func (b *caBundles) evict(now time.Time) {
	if len(b.bundles) <= maxBundles/2 {
		return
	}
	for secret, known := range b.bundles {
		if now.Sub(known.used) > 2*caMaxAge || len(b.bundles) > maxBundles {
			delete(b.bundles, secret)
		}
	}
}
