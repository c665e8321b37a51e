// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/dependence"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	chaosrules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// blackoutGrace is how long a fault goes on in a new process that has not read the cluster's blackouts yet.
const blackoutGrace = 15 * time.Second

// inject decides about the fault that an object requests or its status holds, and returns what to publish: actual,
// or the decision under the fault.
func (r *Reconciler) inject(ctx context.Context, es *networkingv1.ExternalService, o *observation, actual *decision, state *objectState) (faultDecision, decision, error) {
	now, requested := r.Now().Round(0), es.Annotations[networkingv1.InjectFaultAnnotation]
	if requested == "" && !es.Status.Fault.Lasts() {
		return faultDecision{status: es.Status.Fault}, *actual, nil
	}
	if r.states.statusCacheStale(es, now) {
		return faultDecision{}, *actual, controller.ErrStale
	}
	in := r.failoverInput(es, o, state)
	input := faultInput{
		now: now, latestDecision: state.latestDecision, requested: requested, stored: es.Status.Fault, ended: state.endedFault, active: actual.active,
		unknown: r.faultUnknown(es, o, now),
	}
	disrupted := ""
	if input.stored == nil || input.stored.Lasts() || input.stored.Request != requested {
		var err error
		if input.dependants, disrupted, err = r.dependants(ctx, es); err != nil && input.unknown == "" {
			input.unknown = "its dependants cannot be read" // which keeps no fault from ending
		}
	}
	input.obstacle = func(status *networkingv1.FaultStatus, begins bool) (outcome, why string) {
		if begins && disrupted != "" {
			return networkingv1.FaultOutcomeRefused, disrupted
		}
		return r.faultObstacle(es, o, actual, in, status, begins || now.Sub(state.firstSeen) > blackoutGrace)
	}
	decided := input.decide()
	if decided.inEffect && state.confirmedFault != requested {
		// Another process may have ended it.
		if err := controller.ConfirmStored(ctx, r.Live, es, &networkingv1.ExternalService{}); err != nil {
			return faultDecision{}, *actual, err
		}
		state.confirmedFault = requested
	}
	if now.After(state.latestDecision) {
		state.latestDecision = now
	}
	if input.stored.Lasts() && !decided.inEffect {
		state.endedFault = decided.status
	}
	if !decided.inEffect {
		return decided, *actual, nil
	}
	shown := withFault(decided.status, o.endpoints, in)
	shown.requeueAt = controller.Earliest(shown.requeueAt, actual.requeueAt)
	return decided, shown, nil
}

// faultUnknown returns what must be known before a fault begins; "" for nothing.
func (r *Reconciler) faultUnknown(es *networkingv1.ExternalService, o *observation, now time.Time) string {
	unknown := ""
	if es.Spec.HealthCheck != nil {
		endpoints.ForEachActive(o.endpoints, func(e *endpoints.Endpoint, a *endpoints.Address) {
			if a.Health.State == networkingv1.AddressUnknown {
				unknown = fmt.Sprintf("endpoint %q: %s was not checked yet", e.Name, a.IP)
			}
		})
	}
	if state := r.Freeze.State(); unknown == "" && state.Unknown != "" {
		unknown = state.Message(now)
	}
	return unknown
}

// faultObstacle returns why a fault must not begin or go on. firm means that blackouts which are not known yet
// count as well.
func (r *Reconciler) faultObstacle(es *networkingv1.ExternalService, o *observation, actual *decision, in failoverInput, status *networkingv1.FaultStatus, firm bool) (outcome, why string) {
	state := r.Freeze.State()
	if words := state.Message(r.Now()); words != "" && (firm || state.Unknown == "") {
		return networkingv1.FaultOutcomeBlackout, words
	}
	drained := slices.ContainsFunc(o.endpoints, func(e endpoints.Endpoint) bool {
		return e.Name == status.Endpoint && !e.IsDrained && len(e.Addresses) > 0
	})
	switch {
	case slices.Contains(r.WebhookExemptNamespaces, es.Namespace):
		return networkingv1.FaultOutcomeSpecChanged, "admission does not check the rights of users in namespace " + es.Namespace
	case *es.Spec.Suspend:
		return networkingv1.FaultOutcomeSpecChanged, "spec.suspend is true"
	case es.Spec.HealthCheck == nil:
		return networkingv1.FaultOutcomeSpecChanged, "there is no healthCheck: a real failure could not be told from the fault"
	case status.Type == networkingv1.FaultDrain && !drained:
		return networkingv1.FaultOutcomeSpecChanged, fmt.Sprintf("there is no endpoint %q that is Active and has addresses", status.Endpoint)
	}
	if why := realFailure(o, actual); why != "" {
		return networkingv1.FaultOutcomeRealFailure, why
	}
	if d := withFault(status, o.endpoints, in); status.Type != networkingv1.FaultBlackHole && d.readyCount() == 0 {
		return networkingv1.FaultOutcomeRealFailure, "no other endpoint is healthy that could take over; BlackHole takes all out"
	}
	return "", ""
}

// realFailure returns what has failed besides the fault, or "".
func realFailure(o *observation, actual *decision) string {
	switch {
	case o.uncheckedReason != "":
		return o.uncheckedReason
	case o.suspect:
		return "so many checks fail at once that the fault is probably the operator's own"
	case actual.active == nil:
		return "there is no address"
	case *actual.active > lowestPriority(o.endpoints):
		return fmt.Sprintf("it has failed over to tier %d", *actual.active)
	}
	why := ""
	for i := range o.endpoints {
		if e := &o.endpoints[i]; e.State != nil && !e.IsDrained && !endpoints.IsResolved(e.Reason()) && why == "" {
			why = e.ResolveMessage(e.Reason())
		}
	}
	endpoints.ForEachActive(o.endpoints, func(e *endpoints.Endpoint, a *endpoints.Address) {
		if a.Health.State == networkingv1.AddressUnhealthy && why == "" {
			why = fmt.Sprintf("endpoint %q: %s is unhealthy (%s)", e.Name, a.IP, a.Health.Reason)
		}
	})
	return why
}

// dependants returns the targets of the RebootPolicies that name an ExternalService, by kind and name. disrupted
// says which of them is being restarted or loses pods to a ChaosPod, or is empty.
func (r *Reconciler) dependants(ctx context.Context, es *networkingv1.ExternalService) (all []networkingv1.FaultDependant, disrupted string, err error) {
	policies, err := dependence.On(ctx, r.Client, es.Namespace, es.Name)
	if err != nil {
		return nil, "", err
	}
	seen := map[networkingv1.FaultDependant]bool{}
	for i := range policies {
		policy := &policies[i]
		for j := range policy.Status.Targets {
			t := &policy.Status.Targets[j]
			d := networkingv1.FaultDependant{Kind: string(t.Kind), Name: t.Name}
			if !seen[d] {
				seen[d] = true
				d.Ready = r.dependantReadiness(ctx, es.Namespace, t)
				all = append(all, d)
			}
		}
		if len(policy.Status.InFlight) > 0 && disrupted == "" {
			disrupted = fmt.Sprintf("RebootPolicy %s restarts %s %s", policy.Name, policy.Status.InFlight[0].Kind, policy.Status.InFlight[0].Name)
		}
	}
	slices.SortFunc(all, func(a, b networkingv1.FaultDependant) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	if disrupted == "" && len(all) > 0 {
		disrupted, err = r.disruptedBy(ctx, es.Namespace, seen)
	}
	return all, disrupted, err
}

// disruptedBy returns which workload loses pods to a ChaosPod or has not recovered yet; "" for none.
func (r *Reconciler) disruptedBy(ctx context.Context, namespace string, among map[networkingv1.FaultDependant]bool) (string, error) {
	var pods chaosv1.ChaosPodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("list ChaosPods: %w", err)
	}
	for i := range pods.Items {
		for _, owner := range chaosrules.DisruptedOwners(&pods.Items[i].Status) {
			if among[networkingv1.FaultDependant{Kind: owner.Kind, Name: owner.Name}] {
				return fmt.Sprintf("ChaosPod %s disrupts %s %s", pods.Items[i].Name, owner.Kind, owner.Name), nil
			}
		}
	}
	return "", nil
}

func (r *Reconciler) dependantReadiness(ctx context.Context, namespace string, t *autorebootv1.TargetStatus) networkingv1.DependantReadiness {
	w, err := workloads.Get(ctx, r.Client, types.NamespacedName{Namespace: namespace, Name: t.Name}, t.Kind, false)
	switch {
	case err != nil || w == nil:
		return networkingv1.DependantUnreadable
	case !w.Available:
		return networkingv1.DependantUnreadyBefore
	}
	return networkingv1.DependantStayedReady
}
