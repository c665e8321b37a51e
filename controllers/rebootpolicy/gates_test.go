// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/conditions"
)

func TestGates(t *testing.T) {
	month := func(name string, phase corev1.PodPhase) *corev1.Pod {
		p := pod(name, nil)
		p.Labels, p.Status.Phase = map[string]string{"job": "month-end"}, phase
		return p
	}
	sick := db()
	sick.Status.Conditions[0].Status = metav1.ConditionFalse
	ledger := deployment("ledger", 2, nil)
	short := deployment("ledger", 2, nil)
	short[0].(*appsv1.Deployment).Status.AvailableReplicas = 1
	rolling := deployment("ledger", 2, nil)
	rolling[0].(*appsv1.Deployment).Status.UpdatedReplicas = 1
	leaving := deployment("ledger", 2, nil)
	leaving[0].SetDeletionTimestamp(ptr.To(metav1.NewTime(epoch)))
	leaving[0].SetFinalizers([]string{"foregroundDeletion"})
	const healthy, available, none = `{name: db, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}}`, `{name: ledger, type: Condition, condition: {apiVersion: apps/v1, kind: Deployment, name: ledger}}`, `{name: no-jobs, type: NoPods, noPods: {selector: {matchLabels: {job: month-end}}}}`
	const quiet = `{name: quiet, type: PrometheusQueryEmpty, prometheusQueryEmpty: {query: ALERTS}}`
	for name, test := range map[string]struct {
		gate    string
		objects []client.Object
		want    string
	}{
		"healthy":                {healthy, []client.Object{db()}, ""},
		"not healthy":            {healthy, []client.Object{sick}, "gate db: ExternalService db: condition Healthy is False (AllHealthy)"},
		"health is not known":    {healthy, []client.Object{&networkingv1.ExternalService{ObjectMeta: db().ObjectMeta}}, "gate db: ExternalService db has no condition Healthy"},
		"no ExternalService":     {healthy, nil, "gate db: ExternalService db does not exist"},
		"available":              {available, ledger, ""},
		"not available":          {available, short, "gate ledger: Deployment ledger is not available: 1 of 2 replicas"},
		"not rolled out":         {available, rolling, "gate ledger: Deployment ledger is not rolled out"},
		"being deleted":          {available, leaving, "gate ledger: Deployment ledger is being deleted"},
		"no workload":            {available, nil, "gate ledger: Deployment ledger does not exist"},
		"no Prometheus server":   {quiet, nil, "gate quiet: no Prometheus server is queried: rebootPolicies.prometheus.url of the operator's configuration names it"},
		"no pods":                {none, []client.Object{pod("other", nil)}, ""},
		"pods that are done":     {none, []client.Object{month("a", corev1.PodSucceeded), month("b", corev1.PodFailed)}, ""},
		"a pod":                  {none, []client.Object{month("a", corev1.PodPending), month("b", corev1.PodFailed)}, "gate no-jobs: pod a has not finished"},
		"pods, named by one":     {none, []client.Object{month("b", corev1.PodRunning), month("a", corev1.PodRunning)}, "gate no-jobs: pod a and 1 more have not finished"},
		"several, one is shut":   {healthy + "," + available, append(deployment("ledger", 2, nil), sick.DeepCopy()), "gate db: ExternalService db: condition Healthy is False (AllHealthy)"},
		"several, both are shut": {healthy + "," + available, nil, "gate db: ExternalService db does not exist; gate ledger: Deployment ledger does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, config+"gates: ["+test.gate+"]\n", append(deployment("api", 1, nil), test.objects...)...)
			if got := strings.Join(s.observe().gates, "; "); got != test.want {
				t.Errorf("closed: %q, want %q", got, test.want)
			}
		})
	}
}

// A fault that is injected on purpose holds the restarts of all that depend on the ExternalService, by a
// gate or a trigger, unless they take part.
func TestAnInjectedFaultHoldsRestarts(t *testing.T) {
	const held = "a fault is injected into ExternalService db: no address is published as ready until noon"
	gate, trigger := config+"gates: [{name: db, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}}]\n", moves
	for name, test := range map[string]struct {
		spec, annotation string
		status           metav1.ConditionStatus
		want             string
	}{
		"by a gate":       {gate, "", metav1.ConditionTrue, held},
		"by a trigger":    {trigger, "Hold", metav1.ConditionTrue, held},
		"it has ended":    {gate, "", metav1.ConditionFalse, ""},
		"it takes part":   {gate, "Restart", metav1.ConditionTrue, ""},
		"another's":       {config, "", metav1.ConditionTrue, ""},
		"an unknown word": {gate, "restart", metav1.ConditionTrue, held},
	} {
		t.Run(name, func(t *testing.T) {
			broken := db()
			broken.Status.Conditions = append(broken.Status.Conditions, metav1.Condition{
				Type: networkingv1.ConditionFaultInjected, Status: test.status, Reason: "BlackHole", Message: "no address is published as ready until noon",
			})
			s := newSuite(t, test.spec, append(deployment("api", 1, nil), broken)...)
			seen := s.begin(s.object())
			metav1.SetMetaDataAnnotation(&seen.policy.ObjectMeta, autorebootv1.OnInjectedFaultAnnotation, test.annotation)
			if got := strings.Join(s.closedGates(t.Context(), seen), "; "); got != test.want {
				t.Errorf("closed: %q, want %q", got, test.want)
			}
		})
	}
}

// What a workload declares by its annotation holds its own restart alone: another target of the policy goes on.
func TestAFaultOfWhatAWorkloadDeclaresThatItNeedsHoldsItsRestartAlone(t *testing.T) {
	const fault = "a fault is injected into ExternalService db: no address is published as ready until noon"
	broken := db()
	broken.Status.Conditions = append(broken.Status.Conditions, metav1.Condition{
		Type: networkingv1.ConditionFaultInjected, Status: metav1.ConditionTrue, Reason: "BlackHole", Message: "no address is published as ready until noon",
	})
	for name, test := range map[string]struct{ declared, annotation, want, mistake string }{
		"declared":      {"externalservice/db", "", fault, ""},
		"it takes part": {"externalservice/db", "Restart", "", ""},
		"another":       {"externalservice/other", "", "", ""},
		"a mistake":     {"db, externalservice/db", "", fault, "Deployment api: annotation fairlead.dev/depends-on: \"db\" is not externalservice/ and the name of an ExternalService"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := append(deployment("api", 1, nil), broken.DeepCopy())
			metav1.SetMetaDataAnnotation(&objects[0].(*appsv1.Deployment).ObjectMeta, common.DependsOnAnnotation, test.declared)
			s := newSuite(t, config, objects...)
			seen := s.begin(s.object())
			metav1.SetMetaDataAnnotation(&seen.policy.ObjectMeta, autorebootv1.OnInjectedFaultAnnotation, test.annotation)
			s.must(s.Reconciler.observe(t.Context(), seen))
			if len(seen.gates) > 0 || len(seen.workloads) != 1 || seen.workloads[0].Fault != test.want {
				t.Errorf("closed: %q, the workload: %q, want %q", seen.gates, seen.workloads[0].Fault, test.want)
			}
			if got := strings.Join(seen.mistakes, "; "); got != test.mistake {
				t.Errorf("mistakes: %q", got)
			}
			if watches := s.watchIndex.Get(policyKey).dependencies; watches["db"] != strings.Contains(test.declared, "externalservice/db") {
				t.Errorf("watches %v", watches)
			}
		})
	}
}

func TestAGateThatCannotBeReadIsClosed(t *testing.T) {
	s := newSuite(t, config+`gates: [{name: db, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}}, {name: no-jobs, type: NoPods, noPods: {selector: {matchLabels: {job: month-end}}}}, {name: survived, type: Condition, condition: {apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, name: c, type: Survived}}]`, append(deployment("api", 1, nil), db())...)
	seen := s.begin(s.object())
	broken := errors.New("broken")
	s.Client = interceptor.NewClient(s.store, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken },
	})
	if got := strings.Join(s.closedGates(t.Context(), seen), "; "); got != "gate db: ExternalService db cannot be read; gate no-jobs: pods cannot be read; gate survived: ChaosPod c cannot be read; ExternalService db cannot be read, and a fault may be injected into it" {
		t.Errorf("closed: %q", got)
	}
}

func TestTheGateOfAChaosPodOpensWithEvidence(t *testing.T) {
	survived := func(change func(*chaosv1.ChaosPod)) []client.Object {
		c := &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c", Generation: 2}}
		c.Status.Conditions = []metav1.Condition{{
			Type: chaosv1.ConditionSurvived, Status: metav1.ConditionTrue, Reason: chaosv1.ReasonRecovered, ObservedGeneration: 2,
			LastTransitionTime: metav1.NewTime(epoch.Add(-time.Hour)),
		}}
		if change != nil {
			change(c)
		}
		return []client.Object{c}
	}
	gate := func(maxAge string) string {
		return "{name: survived, type: Condition, condition: {apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, name: c, type: Survived" + maxAge + "}}"
	}
	for name, test := range map[string]struct {
		gate    string
		objects []client.Object
		want    string
	}{
		"survived":        {gate(", maxAge: 2h"), survived(nil), ""},
		"at the end":      {gate(", maxAge: 1h"), survived(nil), ""},
		"at any time":     {gate(""), survived(nil), ""},
		"too old":         {gate(", maxAge: 59m"), survived(nil), "ChaosPod c: condition Survived is True since 2026-03-02T13:00:00Z, more than 59m ago"},
		"no ChaosPod":     {gate(""), nil, "ChaosPod c does not exist"},
		"never looked at": {gate(""), survived(func(c *chaosv1.ChaosPod) { c.Status = chaosv1.ChaosPodStatus{} }), "ChaosPod c has no condition Survived"},
		"not survived": {gate(""), survived(func(c *chaosv1.ChaosPod) {
			c.Status.Conditions[0].Status, c.Status.Conditions[0].Reason = metav1.ConditionFalse, chaosv1.ResultRecoveryFailed
		}), "ChaosPod c: condition Survived is False (RecoveryFailed)"},
		"no verdict": {gate(""), survived(func(c *chaosv1.ChaosPod) {
			c.Status.Conditions[0].Status, c.Status.Conditions[0].Reason = metav1.ConditionUnknown, chaosv1.ReasonNoRun
		}), "ChaosPod c: condition Survived is Unknown (NoRun)"},
		"another target since": {gate(""), survived(func(c *chaosv1.ChaosPod) { c.Generation = 3 }), "ChaosPod c: condition Survived is of generation 2, and the spec of generation 3"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, config+"gates: ["+test.gate+"]\n", append(deployment("api", 1, nil), test.objects...)...)
			if got := strings.TrimPrefix(strings.Join(s.observe().gates, "; "), "gate survived: "); got != test.want {
				t.Errorf("closed: %q, want %q", got, test.want)
			}
		})
	}
}

// The objects of other kinds are read by conditiongate.Objects, which a forecast has not.
func TestTheObjectOfAnotherKindIsNotReadFromTheCache(t *testing.T) {
	s := newSuite(t, config+"gates: [{name: tls, type: Condition, condition: {apiVersion: cert-manager.io/v1, kind: Certificate, name: web}}]\n", deployment("api", 1, nil)...)
	if got := s.observe().gates; len(got) != 1 || got[0] != "gate tls: its object is read by the operator alone" {
		t.Errorf("%q", got)
	}
}

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
		"not refused":              {evicts, &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c"}}, "NotObserved"},
		"a pod was missing":        {evicts, refused("shop", "c", "api", 1, "never"), "NotObserved"},
		"another workload":         {evicts, refused("shop", "c", "web", 2, "never"), "NotObserved"},
		"another namespace":        {evicts, refused("bank", "c", "api", 2, "never"), "NotObserved"},
		"a rollout asks no budget": {config, refused("shop", "c", "api", 2, "never"), "NotEvicting"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, test.spec, append(deployment("api", 2, nil), test.chaos)...)
			s.reconcile()
			got, want := conditionOf(&s.object().Status, autorebootv1.ConditionDisruptionBudgetBlocks), "True NoDisruptionsAllowed: "+test.want
			if strings.HasPrefix(test.want, "Not") {
				want = "False " + test.want
				got, _, _ = strings.Cut(got, ":")
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
	const told = "True NoDisruptionsAllowed"
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
			want := "False NotObserved"
			if s.object().Spec.Strategy == nil {
				want = "False NotEvicting"
			}
			s.expectCondition(autorebootv1.ConditionDisruptionBudgetBlocks, want)
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
	if !strings.HasPrefix(got, "True NoDisruptionsAllowed: Deployment api: PodDisruptionBudget never let ChaosPod c-0 ") || !strings.Contains(got, "; and 2 more; a restart") {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"a-", "b-", "c-"} {
		s.must(s.store.Create(t.Context(), refused("shop", name+long, "api", 2, "a"+long)))
	}
	s.reconcile()
	if got := conditionOf(&s.object().Status, autorebootv1.ConditionDisruptionBudgetBlocks); len(got) > conditions.MaxMessage+len("True DisruptionBudgetBlocks: ") || !strings.HasSuffix(got, "...") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
