// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
)

// failbackDelay is how long addresses must stay as they are where the ExternalService does not say.
const failbackDelay = 5 * time.Minute

// What the fingerprints of conditions say.
const (
	failedOver = "FailedOver"
	down       = "Down"
)

// endpointSignals sees what happens to an ExternalService: one signal for each event.
func (r *Reconciler) endpointSignals(ctx context.Context, o *observation, t *autorebootv1.Trigger) error {
	name := t.EndpointsChange.ExternalServiceName
	var es networkingv1.ExternalService
	var broken *tolerantcache.UndecodableError
	unknown := ""
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: o.key.Namespace, Name: name}, &es, shared)
	switch {
	case apierrors.IsNotFound(err):
		unknown = autorebootv1.ReasonSourceNotFound
		o.addProblem(autorebootv1.ReasonSourceNotFound, fmt.Sprintf("trigger %s: ExternalService %s does not exist", t.Name, name))
	case errors.As(err, &broken): // which must not hold up the policy's other triggers
		unknown = sources.Unreadable
		o.addProblem(autorebootv1.ReasonSourceNotFound, fmt.Sprintf("trigger %s: ExternalService %s cannot be read: %s", t.Name, name, broken.Fault))
	case err != nil:
		return fmt.Errorf("read ExternalService %s: %w", name, err)
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
				o.stabilize(&own, w, &es)
			}
			w.Signals = append(w.Signals, own)
		}
	}
	return nil
}

// readEvent reads one event off the status.
func readEvent(signal *restart.Signal, event autorebootv1.EndpointsEvent, es *networkingv1.ExternalService) {
	switch event {
	case autorebootv1.EndpointsAddressesChanged:
		if signal.Fingerprint = addressesOf(es); signal.Fingerprint == "" {
			signal.Unknown = networkingv1.ReasonNoAddresses // an outage is no move
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
			signal.Unknown = networkingv1.ReasonUnknown
		case healthy.Reason == networkingv1.ReasonNoneHealthy:
			signal.Fingerprint = down
		}
	}
}

// addressesOf is the fingerprint of the addresses that are published as healthy; "" without any.
func addressesOf(es *networkingv1.ExternalService) string {
	if es.Status.ActivePriority == nil {
		return ""
	}
	active := map[string]bool{}
	for i := range es.Spec.Endpoints {
		e := &es.Spec.Endpoints[i]
		if ptr.Deref(e.Priority, 0) == *es.Status.ActivePriority && ptr.Deref(e.State, networkingv1.EndpointActive) == networkingv1.EndpointActive {
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

// stableFingerprint is what a trigger has seen of addresses that come and go.
type stableFingerprint struct {
	was, is string
	since   time.Time
}

// stabilize lets new addresses count only after they have stayed for the delay of the ExternalService's
// failback: what flaps restarts no workload. Until then the former ones stand, which a process that has
// just begun finds among the baselines.
func (o *observation) stabilize(signal *restart.Signal, w *workload, es *networkingv1.ExternalService) {
	key := signal.Trigger + "/" + signal.Source
	seen := o.state.stable[key]
	if seen.is != signal.Fingerprint {
		seen.is, seen.since = signal.Fingerprint, o.now
	}
	delay := failbackDelay
	if f := es.Spec.Failover; f != nil {
		delay = f.FailbackDelay.Or(failbackDelay)
	}
	settles := seen.since.Add(delay)
	if !settles.After(o.now) {
		seen.was = seen.is
	}
	o.state.stable[key] = seen
	former := seen.was
	if former == "" {
		if known, ok := o.baseline(w, signal.Trigger, signal.Source); ok {
			former = known
		} else {
			former = signal.Fingerprint // a first sight
		}
	}
	if former == signal.Fingerprint {
		return
	}
	signal.Fingerprint, signal.RequeueAt, signal.SettlesAt = former, settles, settles
	o.requeueAt(settles)
}
