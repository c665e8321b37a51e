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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/randfill"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func TestWhyListsNoMoreKindsThanItNames(t *testing.T) {
	s := shop(autorebootv1.ReasonGateClosed)
	worker, guarded := deployment("worker", 0), payments(autorebootv1.ReasonGateClosed)
	worker.Annotations = map[string]string{common.DependsOnAnnotation: "externalservice/db"}
	guarded.Name, guarded.Spec.Gates = "guarded", []autorebootv1.Gate{{Name: "survived", ChaosSurvived: &autorebootv1.ChaosSurvived{Name: "killer"}}}
	killer := killer("killer", "worker")
	killer.Status.Conditions = []metav1.Condition{condition("Ready", "True", "Idle", ""), condition("Waiting", "True", "Unstable", "no")}
	s.objects["deployments"] = append(s.objects["deployments"], worker)
	s.objects["rebootpolicies"] = append(s.objects["rebootpolicies"], guarded)
	s.objects["chaospods"] = []client.Object{killer}
	for of, lists := range map[Key]int{
		{ExternalService, "shop", "db"}: 4, {RebootPolicy, "shop", "payments"}: 2, {RebootPolicy, "shop", "guarded"}: 6,
		{ChaosPod, "shop", "killer"}: 6, {"Deployment", "shop", "worker"}: 7,
	} {
		c := s.client(t)
		all, err := Read(t.Context(), c, of.Namespace)
		if err != nil {
			t.Fatal(err)
		}
		whole := New(all)
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

// A workload of a kind that is not read is not said to be missing.
func TestARolloutIsSaidToBeNotRead(t *testing.T) {
	policy := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "checkout"}}
	policy.Spec.Targets = []autorebootv1.Target{{Group: common.RolloutsGroup, Kind: common.WorkloadRollout, Name: "checkout"}}
	o := New(&Snapshot{Objects: []client.Object{policy}}).Find(Key{string(common.WorkloadRollout), "shop", "checkout"})
	if o == nil || o.Health != Unknown || o.Said != "objects of its kind are not read here" {
		t.Errorf("%+v", o)
	}
}
