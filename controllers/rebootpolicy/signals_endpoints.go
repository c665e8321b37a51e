// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
)

// failbackDelay is how long addresses must stay the same where the ExternalService does not say.
const failbackDelay = 5 * time.Minute

// The fingerprints of conditions.
const (
	failedOver = "FailedOver"
	down       = "Down"
)

// endpointSignals adds a signal for each event of an ExternalService that a trigger names.
func (r *Reconciler) endpointSignals(ctx context.Context, o *observation, t *autorebootv1.Trigger) {
	name := t.EndpointsChange.ExternalServiceName
	var es networkingv1.ExternalService
	var undecodable *tolerantcache.UndecodableError
	unknown := ""
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: o.key.Namespace, Name: name}, &es, shared)
	switch {
	case apierrors.IsNotFound(err):
		unknown = autorebootv1.ReasonSourceNotFound
		o.addProblem(autorebootv1.ReasonSourceNotFound, fmt.Sprintf("trigger %s: %s", t.Name, o.readFailure("ExternalService", name, err)))
	case errors.As(err, &undecodable): // it must not hold the policy's other triggers
		unknown = autorebootv1.ReasonUnreadable
		o.addProblem(autorebootv1.ReasonSourceNotFound,
			fmt.Sprintf("trigger %s: ExternalService %s cannot be read: %s", t.Name, name, undecodable.Fault))
	case err != nil:
		unknown = autorebootv1.ReasonUnreadable
		o.addProblem(autorebootv1.ReasonSourceNotFound, fmt.Sprintf("trigger %s: %s", t.Name, o.readFailure("ExternalService", name, err)))
	case meta.IsStatusConditionTrue(es.Status.Conditions, networkingv1.ConditionFaultInjected) && !restartsOnInjectedFault(o.policy):
		unknown = networkingv1.ConditionFaultInjected
	}
	for _, event := range t.EndpointsChange.Events {
		signal := restart.Signal{Trigger: t.Name, Source: "ExternalService/" + name + "/" + string(event), Unknown: unknown}
		if unknown == "" {
			readEvent(&signal, event, &es)
		}
		for _, w := range o.workloads {
			own := signal
			if event == autorebootv1.EndpointsAddressesChanged && own.Unknown == "" {
				o.stabilize(&own, w, es.Spec.Failover)
			}
			w.Signals = append(w.Signals, own)
		}
	}
}

// readEvent reads one event from the status.
func readEvent(signal *restart.Signal, event autorebootv1.EndpointsEvent, es *networkingv1.ExternalService) {
	switch event {
	case autorebootv1.EndpointsAddressesChanged:
		if signal.Fingerprint = addressesOf(es); signal.Fingerprint == "" {
			signal.Unknown = autorebootv1.ReasonNoAddresses // an outage is no change
		}
	case autorebootv1.EndpointsFailedOver, autorebootv1.EndpointsFailedBack:
		if meta.IsStatusConditionTrue(es.Status.Conditions, networkingv1.ConditionFailedOver) {
			signal.Fingerprint = failedOver
		}
		back := event == autorebootv1.EndpointsFailedBack
		signal.SilentCreate, signal.SilentDelete = back, !back
	case autorebootv1.EndpointsRecovered:
		signal.SilentCreate = true
		healthy := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionHealthy)
		switch {
		case healthy == nil || healthy.Status == metav1.ConditionUnknown:
			signal.Unknown = autorebootv1.ReasonUnknown
		case healthy.Reason == networkingv1.ReasonNoneHealthy:
			signal.Fingerprint = down
		}
	}
}

// addressesOf returns a fingerprint of the addresses that are published as healthy; "" without any.
func addressesOf(es *networkingv1.ExternalService) string {
	if es.Status.ActivePriority == nil {
		return ""
	}
	active := map[string]bool{}
	for i := range es.Spec.Endpoints {
		e := &es.Spec.Endpoints[i]
		if ptr.Deref(e.Priority, 0) == *es.Status.ActivePriority &&
			ptr.Deref(e.State, networkingv1.EndpointActive) == networkingv1.EndpointActive {
			active[e.Name] = true
		}
	}
	var all []string
	for i := range es.Status.Endpoints {
		e := &es.Status.Endpoints[i]
		if !active[e.Name] {
			continue
		}
		for j := range e.Addresses {
			a := &e.Addresses[j]
			if a.Health == networkingv1.AddressHealthy || a.Health == "" && a.Reason != networkingv1.ProbeDenied {
				all = append(all, fmt.Sprintf("%s %d", a.IP, a.Port))
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return fingerprintOf(slices.Compact(all)...)
}

// stabilize has new addresses count only once they stayed for the failback delay of the ExternalService: ones
// that flap must not restart workloads. Until then the previous ones count, which a new process takes from the
// baselines. So does a workload that was restarted since the previous ones counted: its pods are of what was the latest then,
// and the failover that it was restarted for must not restart it again as a change of addresses.
func (o *observation) stabilize(signal *restart.Signal, w *workload, failover *networkingv1.Failover) {
	key := signal.Trigger + "/" + signal.Source
	seen := o.state.stable[key]
	if seen.latest != signal.Fingerprint {
		seen.latest, seen.since = signal.Fingerprint, o.now
	}
	delay := failbackDelay
	if failover != nil {
		delay = failover.FailbackDelay.Or(failbackDelay)
	}
	settlesAt := seen.since.Add(delay)
	if !settlesAt.After(o.now) && seen.stable != seen.latest {
		seen.stable, seen.counts = seen.latest, o.now
	}
	o.state.stable[key] = seen
	if seen.stable == seen.latest {
		return
	}
	previous := seen.stable
	if known, ok := o.baseline(w, signal.Trigger, signal.Source); ok && (previous == "" || o.isRestartedSince(w, seen.counts)) {
		previous = known
	}
	if previous != "" && previous != signal.Fingerprint { // without any, they become the baseline
		signal.Settling, signal.Fingerprint, signal.RequeueAt, signal.SettlesAt = signal.Fingerprint, previous, settlesAt, settlesAt
		o.requeueAt(settlesAt)
	}
}

// isRestartedSince reports whether a restart of a workload has ended since a time, or is in flight and began since then. The
// times of the status are whole seconds.
func (o *observation) isRestartedSince(w *workload, since time.Time) bool {
	since = since.Truncate(time.Second)
	if last := o.targetStatus(w).LastRestartTime; last != nil && !last.Time.Before(since) {
		return true
	}
	return slices.ContainsFunc(o.policy.Status.InFlight, func(f autorebootv1.InFlightRestart) bool {
		return f.UID == w.UID && f.StartTime != nil && !f.StartTime.Time.Before(since)
	})
}

// fingerprintOf returns a hash of what is no secret.
func fingerprintOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "sha256:" + base64.RawURLEncoding.EncodeToString(sum[:16])
}
