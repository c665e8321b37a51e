// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/randfill"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

func TestWhyListsNoMoreKindsThanItNames(t *testing.T) {
	s := shop(autorebootv1.ReasonGateClosed)
	worker, guarded := deployment("worker", 0), payments(autorebootv1.ReasonGateClosed)
	worker.Annotations = map[string]string{common.DependsOnAnnotation: "externalservice/db"}
	guarded.Name, guarded.Spec.Gates = "guarded", []autorebootv1.Gate{{Name: "survived", Condition: &autorebootv1.ObjectCondition{APIVersion: "chaos.fairlead.dev/v1", Kind: "ChaosPod", Name: "killer", Type: "Survived"}}}
	killer := killer("killer", "worker")
	killer.Status.Conditions = []metav1.Condition{condition("Ready", "True", "Idle", ""), condition("Waiting", "True", "Unstable", "no")}
	s.objects["deployments"] = append(s.objects["deployments"], worker)
	s.objects["rebootpolicies"] = append(s.objects["rebootpolicies"], guarded)
	s.objects["chaospods"] = []client.Object{killer}
	for of, lists := range map[Key]int{
		{ExternalService, "shop", "db"}: 7, {RebootPolicy, "shop", "payments"}: 2, {RebootPolicy, "shop", "guarded"}: 7,
		{ChaosPod, "shop", "killer"}: 7, {"Deployment", "shop", "worker"}: 8,
	} {
		c := s.client(t)
		all, err := Read(t.Context(), c, of.Namespace)
		if err != nil {
			t.Fatal(err)
		}
		whole := New(all)
		if of.Kind == ExternalService {
			whole.ReadPublished(t.Context(), c, of)
		}
		before := s.asked.Load()
		graph, object, err := ReadWith(t.Context(), c, of)
		if err != nil {
			t.Fatal(err)
		}
		if asked := int(s.asked.Load()-before) - 1; asked != lists {
			t.Errorf("%s: %d lists, want %d", of, asked, lists)
		}
		if diff := cmp.Diff(whole.Explain(whole.Find(of)), graph.Explain(object)); diff != "" {
			t.Errorf("%s is explained otherwise than by all kinds: %s", of, diff)
		}
	}
}

func TestAListDecodesAsByTheDecoderOfClientGo(t *testing.T) {
	for seed := range int64(100) {
		fill := randfill.NewWithSeed(seed).NilChance(0.4).NumElements(0, 3).MaxDepth(12).Funcs(
			func(value *metav1.Time, c randfill.Continue) {
				value.Time = time.Unix(c.Rand.Int63n(4e9), 0).Local()
			},
			func(value *intstr.IntOrString, c randfill.Continue) {
				*value = intstr.FromInt32(c.Int31())
				if c.Bool() {
					*value = intstr.FromString("sql")
				}
			},
			func(value *metav1.FieldsV1, _ randfill.Continue) { value.SetRawString(`{"f:spec":{}}`) },
			func(*runtime.RawExtension, randfill.Continue) {},
			func(value *string, c randfill.Continue) { *value = strings.Repeat("a\"\u00e9<", c.Intn(3)) },
		)
		for _, k := range kinds[:3] {
			list := k.list()
			fill.Fill(list)
			raw, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			expected, got := k.list(), k.list()
			if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, expected); err != nil {
				t.Fatal(err)
			}
			if err := decode(strings.NewReader(string(raw)), got); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if diff := cmp.Diff(expected, got, cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ManagedFields")); diff != "" {
				t.Fatalf("seed %d: %s", seed, diff)
			}
		}
	}
}

func TestAListThatEndsEarlyOrDoesNotFitIsAnError(t *testing.T) {
	for _, raw := range []string{"", `{"items":[`, `{"items":{}}`, `{"items":[{"metadata":{"name":1}}]}`, `{"items":[{"status":{"conditions":[{"lastTransitionTime":"noon"}]}}]}`} {
		if err := decode(strings.NewReader(raw), List(ExternalService)); err == nil {
			t.Errorf("%s is read", raw)
		}
	}
	if err := decode(strings.NewReader(`{"items":null,"unknown":[{}]}`), List(ExternalService)); err != nil {
		t.Error(err)
	}
}

// A cluster need not have Rollouts, and without a right to them it is not known whether it has: that is of interest only where
// something has to do with them.
func TestRolloutsAreReadWhereThereAreAny(t *testing.T) {
	policy := &autorebootv1.RebootPolicy{ObjectMeta: named("checkout"), TypeMeta: metav1.TypeMeta{APIVersion: "autoreboot.fairlead.dev/v1", Kind: RebootPolicy}}
	policy.Spec.Targets = []autorebootv1.Target{{Group: common.RolloutsGroup, Kind: common.WorkloadRollout, Name: "checkout"}}
	rollout := func(status argorollouts.Status) *argorollouts.Rollout {
		three := int32(3)
		status.ObservedGeneration = "1"
		return &argorollouts.Rollout{TypeMeta: metav1.TypeMeta{APIVersion: "argoproj.io/v1alpha1", Kind: Rollout}, ObjectMeta: named("checkout"),
			Spec: argorollouts.Spec{Replicas: &three}, Status: status}
	}
	key := Key{Rollout, "shop", "checkout"}
	for name, test := range map[string]struct {
		refuse    *apierrors.StatusError
		rollout   *argorollouts.Rollout
		health    Health
		said      string
		hasErrors bool
	}{
		"healthy":         {nil, rollout(argorollouts.Status{AvailableReplicas: 3}), Healthy, "3 of 3 pods available", false},
		"aborted":         {nil, rollout(argorollouts.Status{AvailableReplicas: 3, Abort: true}), Degraded, "3 of 3 pods available, and its latest revision was aborted", false},
		"paused":          {nil, rollout(argorollouts.Status{AvailableReplicas: 3, PauseConditions: []argorollouts.PauseCondition{{Reason: "CanaryPauseStep"}}}), Waiting, "3 of 3 pods available, and its strategy is paused: CanaryPauseStep", false},
		"of no such kind": {notServed(), nil, Unknown, "it could not be read: " + workloadkinds.Rollouts.NotServed(), false},
		"forbidden":       {forbidden("rollouts"), nil, Unknown, "it could not be read: you have no permission: grant list on rollouts.argoproj.io in namespace shop", true},
		"missing":         {nil, nil, Unknown, "it does not exist", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{objects: map[string][]client.Object{"rebootpolicies": {policy}}, refuse: map[string]*apierrors.StatusError{}}
			if test.rollout != nil {
				s.objects["rollouts"] = []client.Object{test.rollout}
			}
			if test.refuse != nil {
				s.refuse["rollouts"] = test.refuse
			}
			c := s.client(t)
			all, err := Read(t.Context(), c, "shop")
			if err != nil {
				t.Fatal(err)
			}
			if o := New(all).Find(key); o == nil || o.Health != test.health || o.Said != test.said || HasErrors(all.Unread) != test.hasErrors {
				t.Errorf("%+v, unread %v", o, all.Unread)
			}
			s.objects["rebootpolicies"] = nil
			if all, err = Read(t.Context(), c, "shop"); err != nil || len(all.Unread) > 0 {
				t.Errorf("nothing has to do with Rollouts: %v, %v", all, err)
			}
			if _, _, err := ReadWith(t.Context(), c, key); (err == nil) != (test.rollout != nil) {
				t.Errorf("%v", err)
			}
		})
	}
}

// OpenKruise has a StatefulSet as well: neither is taken for the other.
func TestAWorkloadOfAnotherProjectIsNoneOfKubernetes(t *testing.T) {
	t.Parallel()
	policy := &autorebootv1.RebootPolicy{ObjectMeta: named("checkout"), TypeMeta: metav1.TypeMeta{APIVersion: "autoreboot.fairlead.dev/v1", Kind: RebootPolicy}}
	policy.Spec.Targets = []autorebootv1.Target{{Group: "apps.kruise.io", Kind: "StatefulSet", Name: "db"}}
	policy.Status.Targets = []autorebootv1.TargetStatus{{Kind: "StatefulSet.apps.kruise.io", Name: "db"}}
	set := &appsv1.StatefulSet{ObjectMeta: named("db"), TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}}
	graph := New(&Snapshot{Objects: []client.Object{policy, set}})
	if o := graph.Find(Key{"StatefulSet", "shop", "db"}); len(o.NeededBy) > 0 {
		t.Errorf("the policy restarts the StatefulSet of Kubernetes: %+v", o.NeededBy)
	}
	theirs := graph.Find(Key{"StatefulSet.apps.kruise.io", "shop", "db"})
	if theirs == nil || len(theirs.NeededBy) != 1 || theirs.Said != "objects of its kind are not read here" {
		t.Errorf("%+v", theirs)
	}
}
