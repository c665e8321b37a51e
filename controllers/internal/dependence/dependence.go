// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dependence finds which workloads depend on which ExternalServices. A RebootPolicy declares it: its targets depend on
// each ExternalService that its gates and triggers name. So does the annotation common.DependsOnAnnotation of a workload. All is
// read from caches, and the workloads of a namespace are listed only where a fault is requested or lasts.
package dependence

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	commonrules "github.com/fairlead-dev/fairlead/internal/rules"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// shared reads objects as the cache holds them. They must not be changed.
const shared = client.UnsafeDisableDeepCopy

// Fault returns which fault is injected into an ExternalService now, in the words of its condition; empty
// for none.
func Fault(es *networkingv1.ExternalService) string {
	c := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionFaultInjected)
	if c == nil || c.Status != metav1.ConditionTrue {
		return ""
	}
	return fmt.Sprintf("a fault is injected into ExternalService %s: %s", es.Name, c.Message)
}

// Workload names one that depends on an ExternalService.
type Workload struct{ Kind, Name string }

// Dependants are the workloads that depend on an ExternalService.
type Dependants struct {
	// Workloads are by kind and name, each once: the targets of RebootPolicies, and then those that only their annotation
	// declares.
	Workloads []Workload
	// Restarted names the RebootPolicy that restarts one of them, as a message; empty for none.
	Restarted string
	// Mistakes describes invalid annotations in the namespace. They may have meant the ExternalService.
	Mistakes []string
}

// On returns what depends on an ExternalService.
func On(ctx context.Context, from client.Reader, namespace, externalService string) (*Dependants, error) {
	var policies autorebootv1.RebootPolicyList
	if err := from.List(ctx, &policies, client.InNamespace(namespace), shared); err != nil {
		return nil, fmt.Errorf("list RebootPolicies: %w", err)
	}
	d, known := &Dependants{}, map[Workload]bool{}
	add := func(w Workload) {
		if !known[w] {
			known[w] = true
			d.Workloads = append(d.Workloads, w)
		}
	}
	for i := range policies.Items {
		if policy := &policies.Items[i]; names(policy, externalService) {
			for j := range policy.Status.Targets {
				add(Workload{string(policy.Status.Targets[j].Kind), policy.Status.Targets[j].Name})
			}
		}
	}
	slices.SortFunc(d.Workloads, compare)
	ofPolicies := len(d.Workloads)
	err := workloads.Each(ctx, from, namespace, func(kind common.WorkloadKind, object metav1.Object) {
		declared, mistake := commonrules.Dependencies(object.GetAnnotations())
		if slices.Contains(declared, externalService) {
			add(Workload{string(kind), object.GetName()})
		}
		if mistake != "" {
			d.Mistakes = append(d.Mistakes, fmt.Sprintf("%s %s: %s", kind, object.GetName(), mistake))
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(d.Workloads[ofPolicies:], compare)
	slices.Sort(d.Mistakes) // the cache has no order
	d.Restarted = restarted(policies.Items, externalService, known)
	return d, nil
}

func names(policy *autorebootv1.RebootPolicy, externalService string) bool {
	return slices.Contains(rules.ExternalServices(&policy.Spec), externalService)
}

func compare(a, b Workload) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// restarted returns which policy restarts one of some workloads, or names the ExternalService and restarts anything.
func restarted(policies []autorebootv1.RebootPolicy, externalService string, among map[Workload]bool) string {
	for i := range policies {
		policy := &policies[i]
		for j := range policy.Status.InFlight {
			f := &policy.Status.InFlight[j]
			if among[Workload{string(f.Kind), f.Name}] || names(policy, externalService) {
				return fmt.Sprintf("RebootPolicy %s restarts %s %s", policy.Name, f.Kind, f.Name)
			}
		}
	}
	return ""
}

// Faults are those that are injected into the ExternalServices of a namespace.
type Faults struct {
	// injected has what Fault says of each ExternalService, and targets of each target of a RebootPolicy that names one.
	injected map[string]string
	targets  map[Workload]string
}

// In returns the faults of a namespace; nil where there are none.
func In(ctx context.Context, from client.Reader, namespace string) (*Faults, error) {
	var all networkingv1.ExternalServiceList
	if err := from.List(ctx, &all, client.InNamespace(namespace), shared); err != nil {
		return nil, fmt.Errorf("list ExternalServices: %w", err)
	}
	f := &Faults{injected: map[string]string{}, targets: map[Workload]string{}}
	for i := range all.Items {
		if fault := Fault(&all.Items[i]); fault != "" {
			f.injected[all.Items[i].Name] = fault
		}
	}
	if len(f.injected) == 0 {
		return nil, nil
	}
	var policies autorebootv1.RebootPolicyList
	if err := from.List(ctx, &policies, client.InNamespace(namespace), shared); err != nil {
		return nil, fmt.Errorf("list RebootPolicies: %w", err)
	}
	for i := range policies.Items {
		fault := f.first(rules.ExternalServices(&policies.Items[i].Spec))
		for _, t := range policies.Items[i].Status.Targets {
			if fault != "" {
				f.targets[Workload{string(t.Kind), t.Name}] = fault
			}
		}
	}
	return f, nil
}

// Of returns the fault of an ExternalService that a workload depends on, by a RebootPolicy or as the workload itself declares;
// empty for none.
func (f *Faults) Of(w Workload, declared []string) string {
	if f == nil {
		return ""
	}
	return cmp.Or(f.targets[w], f.first(declared))
}

func (f *Faults) first(externalServices []string) string {
	for _, name := range externalServices {
		if fault := f.injected[name]; fault != "" {
			return fault
		}
	}
	return ""
}
