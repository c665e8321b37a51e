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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/dependence"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/conditiongate"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/partialcache"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// closedGates returns why gates are closed, one message for each. A gate that cannot be read is closed.
func (r *Reconciler) closedGates(ctx context.Context, o *observation) []string {
	r.setPolled(o)
	var why []string
	for i := range o.policy.Spec.Gates {
		g := &o.policy.Spec.Gates[i]
		if reason := r.gateClosed(ctx, o, g); reason != "" {
			why = append(why, "gate "+g.Name+": "+reason)
		}
	}
	return append(why, r.injectedFaults(ctx, o)...)
}

// setPolled registers what the gates depend on and the cache does not hold, so that it is polled.
func (r *Reconciler) setPolled(o *observation) {
	var queries []string
	var objects []*autorebootv1.ObjectCondition
	for i := range o.policy.Spec.Gates {
		g := &o.policy.Spec.Gates[i]
		if g.PrometheusQueryEmpty != nil {
			queries = append(queries, g.PrometheusQueryEmpty.Query)
		}
		if g.Condition != nil && cachedObject(g.Condition) == nil {
			objects = append(objects, g.Condition)
		}
	}
	r.Queries.Set(o.key, queries)
	r.Objects.Set(o.key, objects)
}

// injectedFaults returns the faults that are injected into ExternalServices that the policy names. They hold every
// restart of the policy. It also sets the faults of ExternalServices that a workload declares. They hold the restarts
// of that workload. A restart would only make a fault worse, unless an annotation of the policy says otherwise. An
// ExternalService that cannot be read may have a fault.
func (r *Reconciler) injectedFaults(ctx context.Context, o *observation) []string {
	if restartsOnInjectedFault(o.policy) {
		return nil
	}
	known := map[string]string{} // many workloads depend on the same ExternalService
	injected := func(externalServices []string) (faults []string) {
		for _, name := range externalServices {
			fault, read := known[name]
			if !read {
				var es networkingv1.ExternalService
				switch err := r.Client.Get(ctx, types.NamespacedName{Namespace: o.key.Namespace, Name: name}, &es, shared); {
				case err == nil:
					fault = dependence.Fault(&es)
				case !apierrors.IsNotFound(err):
					fault = o.readFailure("ExternalService", name, err) + ", and a fault may be injected into it"
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
	switch {
	case g.Type == autorebootv1.GateApproval: // package restart decides it for each restart
		return ""
	case g.Condition != nil:
		return r.conditionGate(ctx, o, g.Condition)
	case g.PrometheusQueryEmpty != nil:
		return r.Queries.Closed(o.key, g.PrometheusQueryEmpty.Query)
	case g.NoPods != nil:
		return r.noPodsGate(ctx, o, g.NoPods)
	}
	return fmt.Sprintf("unknown type %q", g.Type)
}

// cachedKinds are the kinds in the cache that have conditions or a rollout. Their objects are watched; those of all
// other kinds are polled.
var cachedKinds = map[schema.GroupVersionKind]func() client.Object{
	networkingv1.GroupVersion.WithKind("ExternalService"): func() client.Object { return &networkingv1.ExternalService{} },
	chaosv1.GroupVersion.WithKind("ChaosPod"):             func() client.Object { return &chaosv1.ChaosPod{} },
	workloadkinds.Deployments.GroupVersionKind:            workloadkinds.Deployments.Object,
	workloadkinds.StatefulSets.GroupVersionKind:           workloadkinds.StatefulSets.Object,
	workloadkinds.DaemonSets.GroupVersionKind:             workloadkinds.DaemonSets.Object,
}

// cachedObject returns an empty object of the kind of a gate; nil if the kind is not in cachedKinds.
func cachedObject(of *autorebootv1.ObjectCondition) client.Object {
	if empty := cachedKinds[schema.FromAPIVersionAndKind(of.APIVersion, of.Kind)]; empty != nil {
		return empty()
	}
	return nil
}

// conditionGate returns why a gate of type Condition is closed; "" if it is open.
func (r *Reconciler) conditionGate(ctx context.Context, o *observation, of *autorebootv1.ObjectCondition) string {
	object, key := cachedObject(of), types.NamespacedName{Namespace: o.key.Namespace, Name: of.Name}
	if object == nil {
		return r.Objects.Closed(o.key, of)
	}
	if schema.FromAPIVersionAndKind(of.APIVersion, of.Kind).Group == common.AppsGroup && of.Type == "" {
		return r.rolloutGate(ctx, o, key, common.WorkloadKind(of.Kind))
	}
	if err := r.Client.Get(ctx, key, object, shared); err != nil {
		return o.readFailure(of.Kind, of.Name, err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return o.readFailure(of.Kind, of.Name, err)
	}
	converted := &unstructured.Unstructured{Object: fields}
	converted.SetAPIVersion(of.APIVersion)
	converted.SetKind(of.Kind)
	return conditiongate.Closed(converted, of, o.now)
}

// rolloutGate returns why a workload is not rolled out, by the same rules as for restarts. kstatus ignores the pods of
// a StatefulSet with the update strategy OnDelete.
func (r *Reconciler) rolloutGate(ctx context.Context, o *observation, key types.NamespacedName, kind common.WorkloadKind) string {
	w, err := workloads.Get(ctx, r.Client, key, kind, false)
	name := string(kind) + " " + key.Name
	switch {
	case err != nil:
		return o.readFailure(string(kind), key.Name, err)
	case w == nil:
		return name + " does not exist"
	case w.Obstacle == autorebootv1.ReasonTerminating:
		return name + " is being deleted"
	case !w.Available:
		return fmt.Sprintf("%s is not available: %d of %s", name, w.AvailablePods, events.Plural(int(w.Desired), "replica", "replicas"))
	case !w.Complete:
		return name + " is not rolled out"
	}
	return ""
}

// readFailure returns why an object was not read, as a message. If the object may exist, the reconcile is repeated to
// read it again.
func (o *observation) readFailure(kind, name string, err error) string {
	if leftOut, is := errors.AsType[*partialcache.LeftOutError](err); is {
		return fmt.Sprintf("%s %s cannot be read: %v", kind, name, leftOut)
	}
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("%s %s does not exist", kind, name)
	}
	o.couldNotRead(fmt.Errorf("read %s %s: %w", kind, name, err))
	return fmt.Sprintf("%s %s cannot be read", kind, name)
}

func (r *Reconciler) noPodsGate(ctx context.Context, o *observation, g *autorebootv1.NoPods) string {
	if g.Selector == nil { // a nil selector selects no pod, and the gate would be open
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

// findBudgetBlocks records targets that a policy cannot evict, since a ChaosPod could evict none of their pods although
// all were ready. Such a refusal counts only if at least as many pods were ready as are desired now.
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
	slices.Sort(o.budgetBlocks) // the cache returns objects in no fixed order
}
