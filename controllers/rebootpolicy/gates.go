// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/dependence"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/partialcache"
	chaosrules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// closedGates returns why gates are closed. A gate that cannot be read is closed.
func (r *Reconciler) closedGates(ctx context.Context, o *observation) []string {
	var why, queries []string
	for i := range o.policy.Spec.Gates {
		if p := o.policy.Spec.Gates[i].PrometheusQueryEmpty; p != nil {
			queries = append(queries, p.Query)
		}
	}
	r.Queries.Set(o.key, queries)
	for i := range o.policy.Spec.Gates {
		g := &o.policy.Spec.Gates[i]
		if reason := r.gateClosed(ctx, o, g); reason != "" {
			why = append(why, "gate "+g.Name+": "+reason)
		}
	}
	return append(why, r.injectedFaults(ctx, o)...)
}

// injectedFaults returns the faults that are injected into ExternalServices that the policy names, and sets those of what
// workloads declare that they need. The former hold every restart of the policy and the latter those of the workload, unless an
// annotation of the policy says otherwise: a restart would only make the fault worse. One that cannot be read may have a fault.
func (r *Reconciler) injectedFaults(ctx context.Context, o *observation) []string {
	if restartsOnInjectedFault(o.policy) {
		return nil
	}
	known := map[string]string{} // many workloads need the same
	injected := func(externalServices []string) (faults []string) {
		for _, name := range externalServices {
			fault, read := known[name]
			if !read {
				var es networkingv1.ExternalService
				switch err := r.Client.Get(ctx, types.NamespacedName{Namespace: o.key.Namespace, Name: name}, &es, shared); {
				case err == nil:
					fault = dependence.Fault(&es)
				case !apierrors.IsNotFound(err):
					fault = o.readFailure("ExternalService", name, err) + ", and it is not known whether a fault is injected"
				}
				known[name] = fault
			}
			if fault != "" {
				faults = append(faults, fault)
			}
		}
		return faults
	}
	for _, w := range o.workloads {
		w.Fault = strings.Join(injected(w.DependsOn), "; ")
	}
	return injected(rules.ExternalServices(&o.policy.Spec))
}

// restartsOnInjectedFault reports whether a policy treats an injected fault as a real one.
func restartsOnInjectedFault(policy *autorebootv1.RebootPolicy) bool {
	return policy.Annotations[autorebootv1.OnInjectedFaultAnnotation] == autorebootv1.OnInjectedFaultRestart
}

// gateClosed returns why a gate is closed; "" if it is open.
func (r *Reconciler) gateClosed(ctx context.Context, o *observation, g *autorebootv1.Gate) string {
	named := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: o.key.Namespace, Name: name}
	}
	switch {
	case g.Type == autorebootv1.GateApproval: // decided for each restart, by what it is for
		return ""
	case g.ExternalServiceHealthy != nil:
		name := g.ExternalServiceHealthy.Name
		var es networkingv1.ExternalService
		if err := r.Client.Get(ctx, named(name), &es, shared); err != nil {
			return o.readFailure("ExternalService", name, err)
		}
		if !meta.IsStatusConditionTrue(es.Status.Conditions, networkingv1.ConditionHealthy) {
			return fmt.Sprintf("ExternalService %s is not Healthy", name)
		}
		return ""
	case g.WorkloadAvailable != nil:
		of := g.WorkloadAvailable
		w, err := workloads.Get(ctx, r.Client, named(of.Name), of.Kind, false)
		switch {
		case err != nil:
			return o.readFailure(string(of.Kind), of.Name, err)
		case w == nil:
			return fmt.Sprintf("%s %s does not exist", of.Kind, of.Name)
		case !w.Available:
			return fmt.Sprintf("%s %s is not available", of.Kind, of.Name)
		}
		return ""
	case g.ChaosSurvived != nil:
		var c chaosv1.ChaosPod
		if err := r.Client.Get(ctx, named(g.ChaosSurvived.Name), &c, shared); err != nil {
			return o.readFailure("ChaosPod", g.ChaosSurvived.Name, err)
		}
		within, err := g.ChaosSurvived.Within.Parse()
		if err != nil {
			return "within cannot be read"
		}
		return chaosrules.Unproven(&c, within, o.now)
	case g.PrometheusQueryEmpty != nil:
		return r.Queries.Closed(o.key, g.PrometheusQueryEmpty.Query)
	case g.NoPods != nil:
		return r.noPodsGate(ctx, o, g.NoPods)
	}
	return fmt.Sprintf("type %q is not known", g.Type)
}

// readFailure returns why an object was not read, as a message. One that may exist is read again.
func (o *observation) readFailure(kind, name string, err error) string {
	if leftOut, is := errors.AsType[*partialcache.LeftOutError](err); is {
		return fmt.Sprintf("%s %s is not known: %v", kind, name, leftOut)
	}
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("%s %s does not exist", kind, name)
	}
	o.couldNotRead(fmt.Errorf("read %s %s: %w", kind, name, err))
	return fmt.Sprintf("%s %s cannot be read", kind, name)
}

func (r *Reconciler) noPodsGate(ctx context.Context, o *observation, g *autorebootv1.NoPods) string {
	if g.Selector == nil { // which selects no pod, so that the gate would be open
		return "it has no selector"
	}
	selector, err := g.Selector.Selector()
	if err != nil {
		return "its selector cannot be read"
	}
	var pods corev1.PodList
	in := client.InNamespace(o.key.Namespace)
	if err := r.Client.List(ctx, &pods, in, client.MatchingLabelsSelector{Selector: selector}, shared); err != nil {
		o.couldNotRead(fmt.Errorf("list pods of a gate: %w", err))
		return "pods cannot be read"
	}
	var names []string
	for i := range pods.Items {
		if !workloads.IsFinished(&pods.Items[i]) {
			names = append(names, pods.Items[i].Name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("pod %s has not finished", names[0])
	}
	return fmt.Sprintf("pod %s and %d more have not finished", slices.Min(names), len(names)-1)
}

// findBudgetBlocks describes the targets of which a ChaosPod could evict no pod although all were ready: where the
// policy evicts, the same PodDisruptionBudget refuses its restart. A refusal counts only where at least as many
// pods were ready as are desired now.
func (r *Reconciler) findBudgetBlocks(ctx context.Context, o *observation) {
	if !o.evicts() {
		return
	}
	var all chaosv1.ChaosPodList
	if err := r.Client.List(ctx, &all, client.InNamespace(o.key.Namespace), shared); err != nil {
		o.couldNotRead(fmt.Errorf("list ChaosPods: %w", err))
		o.budgetsUnknown = true
		return
	}
	for i := range all.Items {
		c := &all.Items[i]
		for j := range c.Status.Blocked {
			b := &c.Status.Blocked[j]
			w := o.workload(b.UID)
			if o.budgetsUnknown = o.budgetsUnknown || w != nil && w.Unread != ""; w == nil || w.Unselected || w.Desired == 0 || b.Ready < w.Desired {
				continue
			}
			budget := "a PodDisruptionBudget"
			if b.BlockedBy != "" {
				budget = "PodDisruptionBudget " + b.BlockedBy
			}
			o.budgetBlocks = append(o.budgetBlocks, fmt.Sprintf("%s %s: %s let ChaosPod %s evict no pod although %s",
				b.Kind, b.Name, budget, c.Name, events.Plural(int(b.Ready), "pod was ready", "pods were ready")))
		}
	}
	slices.Sort(o.budgetBlocks) // the cache has no order
}
