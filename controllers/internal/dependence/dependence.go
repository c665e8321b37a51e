// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dependence finds which workloads depend on which ExternalServices. This is declared only in
// RebootPolicies: the targets of one depend on each ExternalService that its gates and triggers name.
package dependence

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
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

// On returns the RebootPolicies of a namespace whose targets depend on an ExternalService. They must not be
// changed.
func On(ctx context.Context, cache client.Reader, namespace, externalService string) ([]autorebootv1.RebootPolicy, error) {
	var policies autorebootv1.RebootPolicyList
	if err := cache.List(ctx, &policies, client.InNamespace(namespace), shared); err != nil {
		return nil, fmt.Errorf("list RebootPolicies: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(policies.Items), func(p autorebootv1.RebootPolicy) bool {
		return !slices.Contains(rules.ExternalServices(&p.Spec), externalService)
	}), nil
}

// Workload names a target of a RebootPolicy.
type Workload struct{ Kind, Name string }

// Faults returns the workloads of a namespace that depend on an ExternalService into which a fault is
// injected, with what Fault says of it.
func Faults(ctx context.Context, cache client.Reader, namespace string) (map[Workload]string, error) {
	var all networkingv1.ExternalServiceList
	if err := cache.List(ctx, &all, client.InNamespace(namespace), shared); err != nil {
		return nil, fmt.Errorf("list ExternalServices: %w", err)
	}
	var faults map[Workload]string
	for i := range all.Items {
		fault := Fault(&all.Items[i])
		if fault == "" {
			continue
		}
		policies, err := On(ctx, cache, namespace, all.Items[i].Name)
		if err != nil {
			return nil, err
		}
		if faults == nil {
			faults = map[Workload]string{}
		}
		for j := range policies {
			for _, t := range policies[j].Status.Targets {
				faults[Workload{string(t.Kind), t.Name}] = fault
			}
		}
	}
	return faults, nil
}
