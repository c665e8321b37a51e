// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// refused is a ChaosPod of whose runs budgets let none of so many pods of a workload go.
func refused(namespace, name, workload string, ready int32, budget string) *chaosv1.ChaosPod {
	c := &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	c.Status.Blocked = []chaosv1.BlockedWorkload{{
		VictimOwner: chaosv1.VictimOwner{Kind: "Deployment", Name: workload, UID: types.UID("uid-" + workload)}, Ready: ready, BlockedBy: budget,
	}}
	return c
}

func TestAPolicyTellsOfABudgetThatRefusedAChaosPod(t *testing.T) {
	const evicts, text = config + "strategy: {type: Evict}\n", "Deployment api: PodDisruptionBudget never let ChaosPod c evict no pod although 2 pods were ready; a restart would be refused as well"
	for name, test := range map[string]struct {
		spec  string
		chaos *chaosv1.ChaosPod
		want  string
	}{
		"refused":                  {evicts, refused("shop", "c", "api", 2, "never"), text},
		"more than there are now":  {evicts, refused("shop", "c", "api", 3, "never"), strings.Replace(text, "although 2", "although 3", 1)},
		"a budget without a name":  {evicts, refused("shop", "c", "api", 2, ""), strings.Replace(text, "PodDisruptionBudget never", "a PodDisruptionBudget", 1)},
		"not refused":              {evicts, &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c"}}, ""},
		"a pod was missing":        {evicts, refused("shop", "c", "api", 1, "never"), ""},
		"another workload":         {evicts, refused("shop", "c", "web", 2, "never"), ""},
		"another namespace":        {evicts, refused("bank", "c", "api", 2, "never"), ""},
		"a rollout asks no budget": {config, refused("shop", "c", "api", 2, "never"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, test.spec, append(deployment("api", 2, nil), test.chaos)...)
			s.reconcile()
			got, want := conditionOf(&s.object().Status, autorebootv1.ConditionDisruptionBudgetBlocks), ""
			if test.want != "" {
				want = "True DisruptionBudgetBlocks: " + test.want
			}
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
			s.expectCondition(autorebootv1.ConditionReady, "True Watching")
			s.expectCondition(autorebootv1.ConditionStalled, "")
			s.expectNoWrite("nothing has changed")
		})
	}
}

func TestWhatBudgetsRefusedIsToldWhileItHolds(t *testing.T) {
	const told = "True DisruptionBudgetBlocks"
	for name, ends := range map[string]func(s *suite, c *chaosv1.ChaosPod){
		"a later run": func(s *suite, c *chaosv1.ChaosPod) {
			c.Status.Blocked = nil
			s.must(s.store.Update(s.Context(), c))
		},
		"the ChaosPod is gone": func(s *suite, c *chaosv1.ChaosPod) { s.must(s.store.Delete(s.Context(), c)) },
		"another strategy": func(s *suite, _ *chaosv1.ChaosPod) {
			s.edit(func(policy *autorebootv1.RebootPolicy) { policy.Spec.Strategy = nil })
		},
		"no target any more": func(s *suite, _ *chaosv1.ChaosPod) {
			s.edit(func(policy *autorebootv1.RebootPolicy) { policy.Spec.Targets[0].Name = "other" })
		},
		"scaled since": func(s *suite, _ *chaosv1.ChaosPod) {
			var d appsv1.Deployment
			s.must(s.store.Get(s.Context(), types.NamespacedName{Namespace: "shop", Name: "api"}, &d))
			d.Spec.Replicas = ptr.To[int32](3)
			s.must(s.store.Update(s.Context(), &d))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := refused("shop", "c", "api", 2, "never")
			s := newSuite(t, config+"strategy: {type: Evict}\n", append(deployment("api", 2, nil), c)...)
			s.reconcile()
			s.expectCondition(autorebootv1.ConditionDisruptionBudgetBlocks, told)
			ends(s, c)
			s.reconcile()
			s.expectCondition(autorebootv1.ConditionDisruptionBudgetBlocks, "")
		})
	}
}

func TestWhatBudgetsRefusedHasAnOrderAndABound(t *testing.T) {
	long := strings.Repeat("x", 250)
	s := newSuite(t, config+"strategy: {type: Evict}\n", deployment("api", 2, nil)...)
	for i := range 5 {
		s.must(s.store.Create(t.Context(), refused("shop", fmt.Sprint("c-", 4-i), "api", 2, "never")))
	}
	s.reconcile()
	got := conditionOf(&s.object().Status, autorebootv1.ConditionDisruptionBudgetBlocks)
	if !strings.HasPrefix(got, "True DisruptionBudgetBlocks: Deployment api: PodDisruptionBudget never let ChaosPod c-0 ") || !strings.Contains(got, "; and 2 more; a restart") {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"a-", "b-", "c-"} {
		s.must(s.store.Create(t.Context(), refused("shop", name+long, "api", 2, "a"+long)))
	}
	s.reconcile()
	if got := conditionOf(&s.object().Status, autorebootv1.ConditionDisruptionBudgetBlocks); len(got) > maxMessage+len("True DisruptionBudgetBlocks: ") || !strings.HasSuffix(got, "...") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
