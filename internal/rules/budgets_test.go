// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestBudgetsThatNeverAllowAnEvictionAreWarnedOf(t *testing.T) {
	percent, number := intstr.FromString, intstr.FromInt32
	budget := func(name string, most, least *intstr.IntOrString, selector map[string]string, expected int32) policyv1.PodDisruptionBudget {
		b := policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: most, MinAvailable: least}}
		b.Name, b.Status.ExpectedPods = name, expected
		if selector != nil {
			b.Spec.Selector = &metav1.LabelSelector{MatchLabels: selector}
		}
		return b
	}
	most := func(name string, v intstr.IntOrString) policyv1.PodDisruptionBudget {
		return budget(name, &v, nil, map[string]string{"app": "web"}, 0)
	}
	least := func(name string, v intstr.IntOrString, expected int32) policyv1.PodDisruptionBudget {
		return budget(name, nil, &v, map[string]string{"app": "web"}, expected)
	}
	other := number(0)
	for name, test := range map[string]struct {
		replicas int
		budgets  []policyv1.PodDisruptionBudget
		want     string
	}{
		"no budget":                             {3, nil, ""},
		"none may be unavailable":               {3, []policyv1.PodDisruptionBudget{most("b", number(0))}, "Evict restarts no pod of Deployment web: PodDisruptionBudget b never allows it (maxUnavailable: 0)"},
		"0%":                                    {3, []policyv1.PodDisruptionBudget{most("b", percent("0%"))}, "(maxUnavailable: 0%)"},
		"1% is one":                             {3, []policyv1.PodDisruptionBudget{most("b", percent("1%"))}, ""},
		"all must be available":                 {3, []policyv1.PodDisruptionBudget{least("b", number(3), 0)}, "(minAvailable: 3 of 3)"},
		"more than there are":                   {1, []policyv1.PodDisruptionBudget{least("b", number(2), 0)}, "(minAvailable: 2 of 1)"},
		"one less than all":                     {3, []policyv1.PodDisruptionBudget{least("b", number(2), 0)}, ""},
		"100%":                                  {3, []policyv1.PodDisruptionBudget{least("b", percent("100%"), 0)}, "(minAvailable: 100% of 3)"},
		"90% of three is three":                 {3, []policyv1.PodDisruptionBudget{least("b", percent("90%"), 0)}, "(minAvailable: 90% of 3)"},
		"more pods of other workloads":          {3, []policyv1.PodDisruptionBudget{least("b", number(3), 5)}, ""},
		"not allowed now":                       {3, []policyv1.PodDisruptionBudget{least("b", number(1), 3)}, ""},
		"of another workload":                   {3, []policyv1.PodDisruptionBudget{budget("b", &other, nil, map[string]string{"app": "db"}, 0)}, ""},
		"of no pod":                             {3, []policyv1.PodDisruptionBudget{budget("b", &other, nil, nil, 0)}, ""},
		"scaled to zero":                        {0, []policyv1.PodDisruptionBudget{most("b", number(0))}, ""},
		"two, and each alone would allow one":   {3, []policyv1.PodDisruptionBudget{most("a", number(1)), most("b", number(1))}, "several PodDisruptionBudgets select its pods (a, b)"},
		"what cannot be read is left to others": {3, []policyv1.PodDisruptionBudget{most("b", percent("some"))}, ""},
	} {
		got := Budgets("Evict restarts no pod", []Evicted{{Kind: "Deployment", Name: "web", Labels: map[string]string{"app": "web"}, Replicas: test.replicas}}, test.budgets)
		if all := strings.Join(got, "\n"); len(got) > 1 || (all == "") != (test.want == "") || !strings.Contains(all, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestABudgetThatCountsNoPodsOfADaemonSetIsWarnedOf(t *testing.T) {
	percent, number := intstr.FromString("50%"), intstr.FromInt32(1)
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	for name, test := range map[string]struct {
		spec policyv1.PodDisruptionBudgetSpec
		want bool
	}{
		"maxUnavailable":        {policyv1.PodDisruptionBudgetSpec{Selector: selector, MaxUnavailable: &number}, true},
		"maxUnavailable in %":   {policyv1.PodDisruptionBudgetSpec{Selector: selector, MaxUnavailable: &percent}, true},
		"minAvailable in %":     {policyv1.PodDisruptionBudgetSpec{Selector: selector, MinAvailable: &percent}, true},
		"minAvailable":          {policyv1.PodDisruptionBudgetSpec{Selector: selector, MinAvailable: &number}, false},
		"one of other pods too": {policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}, MaxUnavailable: &number}, true},
	} {
		got := Budgets("Evict restarts no pod", []Evicted{{Kind: "DaemonSet", Name: "agent", Labels: map[string]string{"app": "agent"}, Replicas: 3}},
			[]policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: test.spec}})
		const words = "Evict restarts no pod of DaemonSet agent: PodDisruptionBudget b never allows it (for a DaemonSet, only minAvailable as a number works)"
		if all := strings.Join(got, "\n"); (all == words) != test.want || !test.want && all != "" {
			t.Errorf("%s: %q", name, all)
		}
	}
}

func TestABudgetThatProtectsUnreadyPodsIsWarnedOf(t *testing.T) {
	always, healthy, most := policyv1.AlwaysAllow, policyv1.IfHealthyBudget, intstr.FromInt32(1)
	for name, test := range map[string]struct {
		how  *policyv1.UnhealthyPodEvictionPolicyType
		app  string
		want bool
	}{
		"the default": {nil, "web", true}, "the same": {&healthy, "web", true}, "always": {&always, "web", false}, "another": {nil, "db", false},
	} {
		b := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": test.app}}, MaxUnavailable: &most, UnhealthyPodEvictionPolicy: test.how,
		}}
		got := ProtectsUnready("Evict restarts no pod", []Evicted{{Kind: "Deployment", Name: "web", Labels: map[string]string{"app": "web"}, Replicas: 3}}, []policyv1.PodDisruptionBudget{b})
		if all := strings.Join(got, "\n"); (all != "") != test.want || test.want && !strings.Contains(all, "unhealthyPodEvictionPolicy to AlwaysAllow") {
			t.Errorf("%s: %q", name, all)
		}
	}
}
