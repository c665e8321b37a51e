// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/dependence"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// closedGates says which gates are closed and why. One that cannot be read is closed.
func (r *Reconciler) closedGates(ctx context.Context, o *observation) []string {
	var why []string
	for i := range o.policy.Spec.Gates {
		if reason := r.gateClosed(ctx, o, &o.policy.Spec.Gates[i]); reason != "" {
			why = append(why, reason)
		}
	}
	return append(why, r.injectedFaults(ctx, o)...)
}

// injectedFaults says which ExternalServices that the policy depends on have a fault injected. Restarts are held
// meanwhile, unless the policy takes part: what the fault breaks is no reason to restart, and a restart
// would make it worse. What cannot be read is for the gates and triggers to tell.
func (r *Reconciler) injectedFaults(ctx context.Context, o *observation) []string {
	if restartsOnInjectedFault(o.policy) {
		return nil
	}
	var why []string
	for _, name := range rules.ExternalServices(&o.policy.Spec) {
		var es networkingv1.ExternalService
		if err := r.Client.Get(ctx, types.NamespacedName{Namespace: o.key.Namespace, Name: name}, &es, shared); err != nil {
			continue
		}
		if fault := dependence.Fault(&es); fault != "" {
			why = append(why, fault)
		}
	}
	return why
}

// restartsOnInjectedFault says whether a policy treats a fault that is injected as one that is real.
func restartsOnInjectedFault(policy *autorebootv1.RebootPolicy) bool {
	return policy.Annotations[autorebootv1.OnInjectedFaultAnnotation] == autorebootv1.OnInjectedFaultRestart
}

// gateClosed says why a gate is closed; "" where it is open.
func (r *Reconciler) gateClosed(ctx context.Context, o *observation, g *autorebootv1.Gate) string {
	switch g.Type {
	case autorebootv1.GateExternalServiceHealthy:
		return r.healthyGate(ctx, o.key.Namespace, g.Name)
	case autorebootv1.GateWorkloadAvailable:
		w, err := r.getWorkload(ctx, o.key.Namespace, g.Kind, g.Name, false)
		switch {
		case err != nil:
			return fmt.Sprintf("%s %s cannot be read", g.Kind, g.Name)
		case w == nil:
			return fmt.Sprintf("%s %s does not exist", g.Kind, g.Name)
		case !w.Available:
			return fmt.Sprintf("%s %s is not available", g.Kind, g.Name)
		}
		return ""
	case autorebootv1.GateNoPods:
		return r.noPodsGate(ctx, o.key.Namespace, g)
	case autorebootv1.GateChaosSurvived:
		return r.survivedGate(ctx, o, g)
	}
	return fmt.Sprintf("a gate of type %q is not known", g.Type)
}

func (r *Reconciler) healthyGate(ctx context.Context, namespace, name string) string {
	var es networkingv1.ExternalService
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &es, shared)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("ExternalService %s does not exist", name)
	case err != nil:
		return fmt.Sprintf("ExternalService %s cannot be read", name)
	case !meta.IsStatusConditionTrue(es.Status.Conditions, networkingv1.ConditionHealthy):
		return fmt.Sprintf("ExternalService %s is not Healthy", name)
	}
	return ""
}

func (r *Reconciler) survivedGate(ctx context.Context, o *observation, g *autorebootv1.Gate) string {
	var c chaosv1.ChaosPod
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: o.key.Namespace, Name: g.Name}, &c, shared)
	within, broken := g.Within.Parse()
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("ChaosPod %s does not exist", g.Name)
	case err != nil:
		return fmt.Sprintf("ChaosPod %s cannot be read", g.Name)
	case broken != nil:
		return "within of a gate cannot be read"
	}
	return chaos.Unproven(&c, within, o.now)
}

func (r *Reconciler) noPodsGate(ctx context.Context, namespace string, g *autorebootv1.Gate) string {
	selector, err := g.Selector.Selector()
	if err != nil {
		return "a selector of gates cannot be read"
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}, shared); err != nil {
		return "the pods of a gate cannot be read"
	}
	first, more := "", 0
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch {
		case workloads.IsFinished(pod):
		case first == "" || pod.Name < first:
			if first != "" {
				more++
			}
			first = pod.Name
		default:
			more++
		}
	}
	switch {
	case first == "":
		return ""
	case more == 0:
		return fmt.Sprintf("pod %s has not finished", first)
	}
	return fmt.Sprintf("pod %s and %d more have not finished", first, more)
}
