// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// filler makes objects of odd content. Times are whole seconds, as JSON has them.
func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 4).MaxDepth(12).Funcs(
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(c.Int63n(1<<33), 0).Rfc3339Copy() },
		func(t *metav1.TypeMeta, _ randfill.Continue) {},
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			m.Name, m.Namespace = c.String(8), c.String(8)
			if c.Bool() {
				m.Annotations = map[string]string{"example.com/x": c.String(8)}
			}
		},
		func(carried *runtime.RawExtension, c randfill.Continue) {
			carried.Raw = fmt.Appendf(nil, `{"made":%d}`, c.Intn(9))
		},
		func(d *common.Duration, c randfill.Continue) {
			*d = []common.Duration{"1s", "90s", "1500ms", "0s", "1h", "soon", common.Duration(c.String(6)), "9999999h"}[c.Intn(8)]
		},
		func(address *v1.IPAddress, c randfill.Continue) {
			*address = v1.IPAddress([]string{"192.0.2.1", "2001:db8::1", "::ffff:1.2.3.4", c.String(6)}[c.Intn(4)])
		},
	)
}

// same compares objects as JSON has them: an empty list is as good as none.
func same(a, b any) string { return cmp.Diff(a, b, cmpopts.EquateEmpty()) }

// defaulted is a hub form with the defaults of v1: an absent field and its default mean the same.
func defaulted(h hub) hub {
	h.Spec = *h.Spec.DeepCopy()
	complete(&h)
	return h
}

func roundTrip[T any](t *testing.T, obj T, through, back string) T {
	t.Helper()
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(convert(t, convert(t, raw, through), back), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTypedObjectsSurviveBothWays(t *testing.T) {
	start := time.Now().UnixNano()
	for i := range int64(600) {
		seed := start + i
		var hubForm v1.ExternalService
		filler(seed).Fill(&hubForm)
		hubForm.APIVersion, hubForm.Kind = v1.GroupVersion.String(), "ExternalService"
		back := roundTrip(t, hubForm, "v1alpha1", "v1")
		rules.Default(&hubForm)
		rules.Default(&back)
		if diff := same(hubForm, back); diff != "" {
			t.Fatalf("seed %d: v1: %s", seed, diff)
		}
		var spokeForm v1alpha1.ExternalService
		filler(seed).Fill(&spokeForm)
		spokeForm.Status.V1 = nil // which belongs to the rest of the status
		spokeForm.APIVersion, spokeForm.Kind = v1alpha1.GroupVersion.String(), "ExternalService"
		if diff := same(spokeForm, roundTrip(t, spokeForm, "v1", "v1alpha1")); diff != "" {
			t.Fatalf("seed %d: v1alpha1: %s", seed, diff)
		}
	}
}

// orderly makes a valid hub form at random: distinct hosts in endpoints of some priorities.
func orderly(random *rand.Rand) hub {
	h := hub{}
	h.Spec.Ports = []v1.ServicePort{{Name: "a", Port: 1}, {Name: "b", Port: 2}}
	address := 0
	for i := range 1 + random.IntN(8) {
		e := v1.Endpoint{Name: fmt.Sprintf("e%d", i), Zone: ptr.To(fmt.Sprintf("z%d", i))}
		tier := int32(random.IntN(10))
		e.Priority = &tier
		if random.IntN(3) == 0 {
			e.DNS = &v1.DNSName{Name: fmt.Sprintf("n%d.example.com", i)}
		} else {
			for range 1 + random.IntN(4) {
				address++
				e.Addresses = append(e.Addresses, v1.IPAddress(fmt.Sprintf("192.0.2.%d", address)))
			}
		}
		h.Spec.Endpoints = append(h.Spec.Endpoints, e)
	}
	h.Spec.HealthCheck = &v1.HealthCheck{Check: common.Check{TCPSocket: &common.TCPSocketAction{Port: ptr.To(intstr.FromString("a"))}}}
	return defaulted(h)
}

// edited changes hosts in a few random ways.
func edited(random *rand.Rand, list []string) []string {
	list = slices.Clone(list)
	for n := range 1 + random.IntN(3) {
		fresh := []string{fmt.Sprintf("new%d.example.com", n), fmt.Sprintf("198.51.100.%d", n)}[random.IntN(2)]
		at := random.IntN(len(list))
		switch random.IntN(4) {
		case 0:
			list = slices.Insert(list, at, fresh)
		case 1:
			list[at] = fresh
		case 2:
			if len(list) > 1 {
				list = slices.Delete(list, at, at+1)
			}
		case 3:
			other := random.IntN(len(list))
			list[at], list[other] = list[other], list[at]
		}
	}
	return list
}

func TestAnyEditOfHostsReadsBackAsWritten(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 2))
	for range 3000 {
		saved := orderly(random)
		raw, err := json.Marshal(saved)
		if err != nil {
			t.Fatal(err)
		}
		before := down(saved)
		after := before
		after.Spec.Hosts = edited(random, before.Spec.Hosts)
		if random.IntN(4) == 0 {
			after.Spec.Probe = nil
		}
		got := overlayHub(saved, before, after)
		if diff := cmp.Diff(after.Spec.Hosts, down(got).Spec.Hosts); diff != "" {
			t.Fatalf("seed %d: %s\nedited to %v\nreads back otherwise: %s", seed, raw, after.Spec.Hosts, diff)
		}
		names := map[string]bool{}
		for _, e := range got.Spec.Endpoints {
			if names[e.Name] || priority(&e) > lowestPriority || after.Spec.Probe == nil && priority(&e) != 0 || (e.DNS == nil) == (e.Addresses == nil) {
				t.Fatalf("seed %d: %s\nedited to %v\nbecame %v", seed, raw, after.Spec.Hosts, shape(got.Spec.Endpoints))
			}
			names[e.Name] = true
		}
	}
}

// withoutNulls drops null members: they are as good as none.
func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if member == nil {
				delete(value, key)
				continue
			}
			value[key] = withoutNulls(member)
		}
	case []any:
		for i := range value {
			value[i] = withoutNulls(value[i])
		}
	}
	return value
}

// FuzzConvert feeds arbitrary JSON: conversion never fails on an object, and v1, which is stored,
// comes back as it was.
func FuzzConvert(f *testing.F) {
	for _, file := range []string{"plain.v1.yaml", "plain.v1alpha1.yaml", "full.v1.yaml", "full.v1alpha1.yaml", "bare.v1alpha1.yaml"} {
		f.Add(golden(f, file))
	}
	for _, seed := range []string{
		`{}`, `{"spec":null}`, `{"spec":[]}`, `{"spec":{"hosts":7}}`, `{"metadata":{},"spec":{"hosts":["",null,"::1%x"],"ports":{"a":0,"":99999999999}}}`,
		`{"spec":{"probe":{}}}`, `{"spec":{"hosts":["a"],"probe":{"httpGet":{},"tcpSocket":{"port":1},"periodSeconds":-1}}}`,
		`{"spec":{"hosts":["a"],"refreshSeconds":-5,"extra":{"x":1}},"status":{"healthy":true,"addresses":["x"]}}`,
		`{"spec":{"endpoints":[{},{"dns":{},"addresses":[]}],"healthCheck":{},"resolution":{"minTTL":"soon","maxTTL":"2s"}}}`,
		`{"spec":{"endpoints":[{"priority":-3,"addresses":["x","y"]},{"priority":99,"dns":{"name":"y"}}],"ports":[{"name":"a","port":1},{"name":"a","port":2}]}}`,
		`{"metadata":{"annotations":{"fairlead.dev/conversion-data":"{\"digest\":\"x\",\"hub\":{\"spec\":{\"endpoints\":[{\"name\":\"evil\",\"addresses\":[\"127.0.0.1\"]}]}}}"}},"spec":{"hosts":["a"]}}`,
	} {
		f.Add([]byte(seed))
	}
	converter := New()
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, pair := range [][2]string{{"v1", "v1alpha1"}, {"v1alpha1", "v1"}} {
			decoder := json.NewDecoder(bytes.NewReader(raw))
			decoder.UseNumber()
			var obj map[string]any
			if decoder.Decode(&obj) != nil || obj == nil {
				return
			}
			obj["apiVersion"], obj["kind"] = "networking.fairlead.dev/"+pair[0], "ExternalService"
			written, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(err)
			}
			there, err := converter.Convert(written, pair[1])
			if err != nil {
				t.Fatalf("%s to %s: %v", written, pair[1], err)
			}
			back, err := converter.Convert(there, pair[0])
			if err != nil {
				t.Fatalf("%s back to %s: %v", there, pair[0], err)
			}
			if pair[0] == "v1" && !bytes.Contains(raw, []byte("fairlead.dev/")) && canAnnotate(written) {
				original, again := withoutNulls(parsed(t, written)).(map[string]any), withoutNulls(parsed(t, back)).(map[string]any)
				for _, part := range []string{"spec", "status"} {
					diff := cmp.Diff(original[part], again[part], cmpopts.EquateEmpty())
					if diff != "" && (part == "status" || !alike(t, original, again)) {
						t.Fatalf("%s came back changed through %s: %s", written, there, diff)
					}
				}
			}
			if _, err := converter.Convert(back, pair[1]); err != nil {
				t.Fatalf("%s to %s again: %v", back, pair[1], err)
			}
		}
	})
}

// canAnnotate reports whether the annotations of an object are valid: others get no further one, as the API server would refuse it.
func canAnnotate(raw []byte) bool {
	var object metav1.PartialObjectMetadata
	return json.Unmarshal(raw, &object) != nil || len(apivalidation.ValidateAnnotations(object.Annotations, nil)) == 0
}

// alike reports whether two objects of v1, which its type knows in full, differ in defaults alone.
func alike(t *testing.T, a, b map[string]any) bool {
	t.Helper()
	specs := make([]any, 0, 2)
	for _, object := range []map[string]any{a, b} {
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var typed v1.ExternalService
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if decoder.Decode(&typed) != nil {
			return false
		}
		rules.Default(&typed)
		specs = append(specs, typed.Spec)
	}
	return cmp.Equal(specs[0], specs[1], cmpopts.EquateEmpty())
}
