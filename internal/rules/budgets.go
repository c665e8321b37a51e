// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Evicted is a workload whose pods an object evicts.
type Evicted struct {
	Kind, Name string
	// Labels are those of its pods, and Replicas is how many pods it is to have.
	Labels   map[string]string
	Replicas int
}

// Budgets warns of PodDisruptionBudgets of the namespace that can never allow the eviction of a pod of a workload, by
// their specs alone. It does not warn of a budget that refuses evictions only now. Each warning begins with what, such
// as "spec.strategy.type: Evict restarts no pod".
func Budgets(what string, workloads []Evicted, budgets []policyv1.PodDisruptionBudget) []string {
	var texts []string
	for i := range workloads {
		w := &workloads[i]
		if w.Replicas == 0 {
			continue
		}
		var covering []string
		for j := range budgets {
			b := &budgets[j]
			if !covers(b, w) {
				continue
			}
			covering = append(covering, b.Name)
			if why := neverAllows(b, w); why != "" {
				texts = append(texts, fmt.Sprintf("%s of %s %s: PodDisruptionBudget %s never allows it (%s)", what, w.Kind, w.Name, b.Name, why))
			}
		}
		if len(covering) > 1 {
			texts = append(texts, fmt.Sprintf("%s of %s %s: several PodDisruptionBudgets select its pods (%s), and the API server refuses every eviction then",
				what, w.Kind, w.Name, strings.Join(covering, ", ")))
		}
	}
	return texts
}

// ProtectsUnready warns of PodDisruptionBudgets that refuse each eviction while too few pods of a workload are ready.
// They protect even the pods that are not ready.
func ProtectsUnready(what string, workloads []Evicted, budgets []policyv1.PodDisruptionBudget) []string {
	var texts []string
	for i := range workloads {
		w := &workloads[i]
		for j := range budgets {
			b := &budgets[j]
			if !covers(b, w) || neverAllows(b, w) != "" {
				continue
			}
			if p := b.Spec.UnhealthyPodEvictionPolicy; p == nil || *p != policyv1.AlwaysAllow {
				texts = append(texts, fmt.Sprintf("%s of %s %s: PodDisruptionBudget %s allows no eviction of pods that are not ready while too few are; set its spec.unhealthyPodEvictionPolicy to AlwaysAllow",
					what, w.Kind, w.Name, b.Name))
			}
		}
	}
	return texts
}

// covers reports whether a budget selects the pods of a workload.
func covers(b *policyv1.PodDisruptionBudget, w *Evicted) bool {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return err == nil && selector.Matches(k8slabels.Set(w.Labels))
}

// neverAllows returns why a budget allows no disruption even while all pods are healthy; empty if it does. It counts
// the pods that the API server expects, including those of other workloads. For a DaemonSet, which has no scale, the
// API server may count none (kubernetes/kubernetes#106309).
func neverAllows(b *policyv1.PodDisruptionBudget, w *Evicted) string {
	if w.Kind == "DaemonSet" && (b.Spec.MaxUnavailable != nil || b.Spec.MinAvailable != nil && b.Spec.MinAvailable.Type == intstr.String) {
		return "for a DaemonSet, only minAvailable as a number works"
	}
	pods := max(w.Replicas, int(b.Status.ExpectedPods))
	scaled := func(v *intstr.IntOrString) (int, bool) {
		n, err := intstr.GetScaledValueFromIntOrPercent(v, pods, true)
		return n, err == nil
	}
	switch {
	case b.Spec.MaxUnavailable != nil:
		if n, ok := scaled(b.Spec.MaxUnavailable); ok && n <= 0 {
			return "maxUnavailable: " + b.Spec.MaxUnavailable.String()
		}
	case b.Spec.MinAvailable != nil:
		if n, ok := scaled(b.Spec.MinAvailable); ok && n >= pods {
			return fmt.Sprintf("minAvailable: %s of %d", b.Spec.MinAvailable, pods)
		}
	}
	return ""
}
