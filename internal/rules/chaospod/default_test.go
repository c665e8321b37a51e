// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules/rulestest"
)

func TestDefaultsFillInWhatIsUnset(t *testing.T) {
	good := rulestest.Objects(t, "testdata/good.yaml")
	for name, c := range map[string]struct {
		spec, want string
	}{
		"workload": {
			`{"target":{"workload":{"kind":"Deployment","name":"a"}},"schedule":{"cron":"@daily"}}`,
			`{"suspend":false,"dryRun":true,"target":{"workload":{"kind":"Deployment","name":"a"}},
			  "schedule":{"cron":"@daily","jitterPercent":0,"startingDeadline":"5m"},"action":{"type":"Evict"},"count":1,
			  "filter":{"minAge":"10m"},"safety":{"minReady":"50%","maxPerDay":8,"requireStable":true,"requireDisruptionBudget":false},
			  "verification":{"timeout":"10m","soak":"30s","onFailure":"Halt"},"historyLimit":10}`,
		},
		"a canary may die young and often": {
			`{"target":{"template":{"spec":{"containers":[]}}},"schedule":{"interval":"15s"},"safety":{"maxPerDay":3}}`,
			`{"suspend":false,"dryRun":false,"target":{"template":{"spec":{"containers":[]}}},
			  "schedule":{"interval":"15s","jitterPercent":0,"startingDeadline":"5m"},"action":{"type":"Evict"},"count":1,
			  "safety":{"maxPerDay":3},"verification":{"timeout":"10m","onFailure":"Halt"},"historyLimit":10}`,
		},
		"a canary without a schedule": {
			`{"target":{"template":{"spec":{"containers":[]}}},"schedule":{}}`,
			`{"suspend":false,"dryRun":false,"target":{"template":{"spec":{"containers":[]}}},
			  "schedule":{"interval":"15s","jitterPercent":0,"startingDeadline":"5m"},"action":{"type":"Evict"},"count":1,
			  "verification":{"timeout":"10m","onFailure":"Halt"},"historyLimit":10}`,
		},
		"what is set stays": {
			`{"suspend":true,"dryRun":false,"target":{"selector":{"matchLabels":{"a":"b"}}},"schedule":{"interval":"1h","jitterPercent":5,"startingDeadline":"1m"},
			  "action":{"type":"Delete","gracePeriodSeconds":1},"count":"10%","filter":{"minAge":"0s"},
			  "safety":{"minReady":0,"maxPerDay":1,"requireStable":false,"requireDisruptionBudget":true},"verification":{"timeout":"1s","soak":"0s","onFailure":"Continue"},"historyLimit":10}`,
			"", // the same
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got, want chaosv1.ChaosPod
			if c.want == "" {
				c.want = c.spec
			}
			if err := errors.Join(json.Unmarshal([]byte(c.spec), &got.Spec), json.Unmarshal([]byte(c.want), &want.Spec)); err != nil {
				t.Fatal(err)
			}
			Default(&got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, obj := range good {
		before := typed(t, obj)
		after := before.DeepCopy()
		Default(after)
		if errs := Validate(after, nil); len(errs) > 0 {
			t.Errorf("%s: %v", after.Name, errs)
		}
	}
}

func TestDefaultingIsIdempotentAndBreaksNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	kind, good := rulestest.Definition(t, group, resource), rulestest.Objects(t, "testdata/good.yaml")
	valid := 0
	for range 500 {
		obj := rulestest.Vary(random, good[random.IntN(len(good))])
		before := typed(t, obj)
		once := before.DeepCopy()
		Default(once)
		twice := once.DeepCopy()
		Default(twice)
		if !reflect.DeepEqual(once, twice) {
			t.Fatalf("not idempotent: %s", cmp.Diff(once, twice))
		}
		if len(kind.Validate(t.Context(), "v1", obj, nil))+len(Validate(before, nil)) > 0 {
			continue
		}
		valid++
		if errs := append(kind.Validate(t.Context(), "v1", rulestest.Untyped(t, once), nil), Validate(once, nil)...); len(errs) > 0 {
			t.Fatalf("defaulting broke %v: %v", obj, errs)
		}
	}
	if valid < 100 {
		t.Errorf("only %d of the varied objects were valid", valid)
	}
}

// Tools compare a list item with what was applied as a whole.
func TestDefaultMapsWritesNothingInListItems(t *testing.T) {
	obj := &chaosv1.ChaosPod{}
	obj.Spec.Verification = &common.Verification{Probes: []common.VerificationProbe{{Name: "shop", Host: "shop.example.com"}}}
	applied := obj.DeepCopy().Spec.Verification.Probes
	DefaultMaps(obj)
	if diff := cmp.Diff(applied, obj.Spec.Verification.Probes); diff != "" {
		t.Errorf("a list changed (-before +after)\n%s", diff)
	}
	if Default(obj); cmp.Equal(applied, obj.Spec.Verification.Probes) {
		t.Error("reconcilers see no default of a probe")
	}
}
