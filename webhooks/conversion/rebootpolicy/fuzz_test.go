// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	"github.com/fairlead-dev/fairlead/api/common"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

var seed = flag.Int64("seed", 1, "seed of the generated objects")

// filler fills typed objects with anything at all, and often enough with what a user would write.
func filler(source int64) *randfill.Filler {
	return randfill.NewWithSeed(source).NilChance(0.3).NumElements(0, 3).Funcs(
		func(v *metav1.Time, c randfill.Continue) { // JSON holds whole seconds
			*v = metav1.NewTime(time.Unix(c.Int63n(4e9), 0).UTC())
		},
		func(v *metav1.Condition, c randfill.Continue) {
			*v = metav1.Condition{Type: c.String(8), Status: "True", Reason: "R", LastTransitionTime: metav1.Unix(c.Int63n(4e9), 0)}
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			if *v = intstr.FromInt32(int32(c.Uint32())); c.Bool() {
				*v = intstr.FromString("http")
			}
		},
		func(v *common.Duration, c randfill.Continue) {
			*v = []common.Duration{"", "0s", "1ms", "1.5s", "30s", "60s", "1m", "10m", "-3s", "9999999h", "soon", "100000h"}[c.Intn(12)]
		},
		func(v *autorebootv1.TriggerType, c randfill.Continue) {
			*v = []autorebootv1.TriggerType{"Probe", "Probe", "PodAge", ""}[c.Intn(4)]
		},
		func(v *metav1.FieldsV1, _ randfill.Continue) { *v = metav1.FieldsV1{} },
		func(v *runtime.RawExtension, _ randfill.Continue) { v.Raw = []byte(`{"made":1}`) },
		func(v *metav1.ObjectMeta, _ randfill.Continue) { *v = metav1.ObjectMeta{Name: "x"} },
	)
}

func encode(t testing.TB, obj any, version string) []byte {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	data = edit(t, data, "apiVersion", "autoreboot.fairlead.dev/"+version)
	return edit(t, data, "kind", "RebootPolicy")
}

func TestAnyHubComesBackFromItsView(t *testing.T) {
	t.Logf("seed %d (repeat with -seed)", *seed)
	fill := filler(*seed)
	for range 1500 {
		var hub autorebootv1.RebootPolicy
		fill.Fill(&hub)
		raw := encode(t, &hub, "v1")
		same(t, "hub", completed(t, convert(t, convert(t, raw, "v1alpha1"), "v1")), completed(t, raw))
		if t.Failed() {
			t.Fatalf("seed %d: %s", *seed, raw)
		}
	}
}

func TestAnyViewComesBackFromItsHub(t *testing.T) {
	t.Logf("seed %d (repeat with -seed)", *seed)
	fill := filler(*seed)
	for range 1500 {
		var view v1alpha1.RebootPolicy
		fill.Fill(&view)
		view.Status.V1 = nil // which belongs to the rest of the status
		raw := encode(t, &view, "v1alpha1")
		hub := convert(t, raw, "v1")
		back := convert(t, hub, "v1alpha1")
		if !annotated(t, hub) { // then nothing was saved, and v1 has no field for the target's version
			form := spokeForm{Spec: view.Spec}
			view.Spec = form.Spec
			raw = encode(t, &view, "v1alpha1")
		}
		same(t, "view", back, raw)
		if t.Failed() {
			t.Fatalf("seed %d: %s", *seed, raw)
		}
	}
}

// Two writers at two versions edit different fields by turns: neither loses an edit.
func TestEditsOfBothVersionsByTurnsAreKept(t *testing.T) {
	random := rand.New(rand.NewSource(*seed))
	raw := load(t, "testdata/full.v1.yaml")
	want := map[string]any{}
	for turn := range 200 {
		n := int64(1 + random.Intn(100))
		if turn%2 == 0 {
			path := []string{"spec.historyLimit", "spec.targets.1.wave", "spec.triggers.4.podAge.jitterPercent", "spec.triggers.7.probe.minUnhealthy"}[random.Intn(4)]
			raw, want[path] = edit(t, raw, path, n), n
		} else {
			view := convert(t, raw, "v1alpha1")
			index := random.Intn(4)
			path := []string{"0", "1", "2", "3"}[index]
			view = edit(t, view, "spec.policies."+path+".trigger.probe.failureThreshold", n)
			raw = convert(t, view, "v1")
			want["spec.triggers."+[]string{"2", "6", "7", "8"}[index]+".probe.failureThreshold"] = n
		}
		for path, value := range want {
			if got := at(t, raw, path); got != value {
				t.Fatalf("seed %d, turn %d: %s is %v, want %v", *seed, turn, path, got, value)
			}
		}
	}
}

func FuzzConvertIsTotalAndLossless(f *testing.F) {
	for _, name := range []string{"full.v1", "plain.v1", "probe.v1alpha1", "own-fields.v1alpha1", "full.v1alpha1.golden", "own-fields.v1.golden"} {
		f.Add(load(f, "testdata/"+name+".yaml"))
	}
	for _, text := range []string{
		`{"apiVersion":"autoreboot.fairlead.dev/v1","kind":"RebootPolicy"}`,
		`{"apiVersion":"autoreboot.fairlead.dev/v1alpha1","metadata":null,"spec":null,"status":7}`,
		`{"apiVersion":"autoreboot.fairlead.dev/v1","spec":{"targets":{},"triggers":[null,{"type":"Probe"},{"type":"Probe","probe":{"interval":5}}]}}`,
		`{"apiVersion":"autoreboot.fairlead.dev/v1alpha1","spec":{"target":[],"policies":[{"trigger":{"probe":{"httpGet":{"port":1.5}}}},3]}}`,
		`{"apiVersion":"autoreboot.fairlead.dev/v1alpha1","spec":{"target":{"kind":"X"},"policies":[{"name":"a","trigger":{}},{"name":"a"}]},"extra":1}`,
		`{"apiVersion":"autoreboot.fairlead.dev/v1","metadata":{"annotations":{"fairlead.dev/v1alpha1-data":"{\"digest\":\"\",\"spoke\":{\"spec\":{}}}"}},"spec":{}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var obj map[string]json.RawMessage
		if json.Unmarshal(raw, &obj) != nil || obj == nil {
			return
		}
		for from, to := range map[string]string{"v1": "v1alpha1", "v1alpha1": "v1"} {
			if string(obj["apiVersion"]) != `"autoreboot.fairlead.dev/`+from+`"` {
				continue
			}
			there := convert(t, raw, to)
			// Whatever the source carried in annotations is spent by now: from here on nothing changes.
			back := convert(t, there, from)
			if !annotated(t, raw) && canAnnotate(raw) && len(raw) < 64<<10 && !kept(tree(t, back), tree(t, raw)) && !alike(raw, back) {
				t.Fatalf("something was lost\nfrom %s\nto %s\nback %s", raw, there, back)
			}
			again := convert(t, convert(t, back, to), from)
			same(t, "the second round trip", again, back)
		}
	})
}

// kept reports whether all of what was there is there still, except for nulls, which mean nothing, and
// the metadata, which is not for conversion to keep.
func kept(now, was any) bool {
	switch was := was.(type) {
	case nil:
		return true
	case object:
		now, ok := now.(object)
		for key, value := range was {
			ok = ok && (key == "metadata" || kept(now[key], value))
		}
		return ok
	case []any:
		now, ok := now.([]any)
		ok = ok && len(now) == len(was)
		for i := range was {
			ok = ok && kept(now[i], was[i])
		}
		return ok
	}
	return now == was
}

// canAnnotate reports whether the annotations of an object are valid: others get no further one, as the API server would refuse it.
func canAnnotate(raw []byte) bool {
	var object metav1.PartialObjectMetadata
	return json.Unmarshal(raw, &object) != nil || len(apivalidation.ValidateAnnotations(object.Annotations, nil)) == 0
}

// alike reports whether two objects of v1, which its type knows in full, differ in defaults alone.
func alike(a, b []byte) bool {
	var policies [2]autorebootv1.RebootPolicy
	for i, raw := range [][]byte{a, b} {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if decoder.Decode(&policies[i]) != nil || policies[i].APIVersion != "autoreboot.fairlead.dev/v1" {
			return false
		}
		rules.Default(&policies[i])
	}
	return equality.Semantic.DeepEqual(policies[0], policies[1])
}

// completed is an object of v1 with its defaults: an absent field and its default mean the same.
func completed(t *testing.T, raw []byte) []byte {
	t.Helper()
	var policy autorebootv1.RebootPolicy
	if err := json.Unmarshal(raw, &policy); err != nil {
		t.Fatal(err)
	}
	rules.Default(&policy)
	return encode(t, &policy, "v1")
}
