// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	autorebootv1alpha1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	chaosv1alpha1 "github.com/fairlead-dev/fairlead/api/chaos/v1alpha1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	networkingv1alpha1 "github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	chaospodrules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	externalservicerules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	rebootpolicyrules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/chaospod"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/rebootpolicy"
)

// traveler is a kind at one of its versions.
type traveler struct {
	apiVersion, from, to string

	converter *hubspoke.Converter
	blank     func() any // an object to be filled
	complete  func(any)  // with the defaults of v1; nil at v1alpha1
}

func travelers() []traveler {
	networking, autoreboot, chaos := externalservice.New(), rebootpolicy.New(), chaospod.New()
	return []traveler{
		{"networking.fairlead.dev/v1", "v1", "v1alpha1", networking, func() any { return new(networkingv1.ExternalService) }, defaulting(externalservicerules.Default)},
		{"networking.fairlead.dev/v1alpha1", "v1alpha1", "v1", networking, func() any { return new(networkingv1alpha1.ExternalService) }, nil},
		{"autoreboot.fairlead.dev/v1", "v1", "v1alpha1", autoreboot, func() any { return new(autorebootv1.RebootPolicy) }, defaulting(rebootpolicyrules.Default)},
		{"autoreboot.fairlead.dev/v1alpha1", "v1alpha1", "v1", autoreboot, func() any { return new(autorebootv1alpha1.RebootPolicy) }, nil},
		{"chaos.fairlead.dev/v1", "v1", "v1alpha1", chaos, func() any { return new(chaosv1.ChaosPod) }, defaulting(chaospodrules.Default)},
		{"chaos.fairlead.dev/v1alpha1", "v1alpha1", "v1", chaos, func() any { return new(chaosv1alpha1.ChaosPod) }, nil},
	}
}

func defaulting[T any](fill func(*T)) func(any) {
	return func(object any) {
		if typed, ok := object.(*T); ok {
			fill(typed)
		}
	}
}

// TestRoundTrips converts objects at random, of every kind, from both versions to the other one and
// back: half of them as the types allow, half with JSON in them that no type allows. FAIRLEAD_ROUNDTRIPS
// says how many; 3,000 is the default.
func TestRoundTrips(t *testing.T) {
	total := int64(3_000)
	if asked := os.Getenv("FAIRLEAD_ROUNDTRIPS"); asked != "" {
		var err error
		if total, err = strconv.ParseInt(asked, 10, 64); err != nil {
			t.Fatalf("FAIRLEAD_ROUNDTRIPS: %v", err)
		}
	}
	var (
		begun, done, restored atomic.Int64
		all                   = travelers()
		seed                  = time.Now().UnixNano()
		start                 = time.Now()
		workers               sync.WaitGroup
	)
	for n := range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			fill := filler(seed + int64(n))
			random := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
			for i := begun.Add(1); i <= total && !t.Failed(); i = begun.Add(1) {
				saved, err := all[i%int64(len(all))].travel(fill, random, i/int64(len(all))%2 == 1)
				if err != nil {
					t.Errorf("seed %d, worker %d: %v", seed, n, err)
					return
				}
				done.Add(1)
				if saved {
					restored.Add(1)
				}
			}
		})
	}
	workers.Wait()
	if done.Load() != total {
		t.Errorf("%d of %d round trips were made", done.Load(), total)
	}
	t.Logf("%d round trips without a loss, %d of them with the help of a restore annotation, in %s", done.Load(), restored.Load(), time.Since(start).Round(time.Millisecond))
}

// travel makes an object, and converts it there and back. Saved says that it had a restore annotation
// on the way.
func (t traveler) travel(fill *randfill.Filler, random *rand.Rand, wild bool) (saved bool, err error) {
	made := t.blank()
	fill.Fill(made)
	raw, err := json.Marshal(made)
	if err != nil {
		return false, err
	}
	source, err := parse(raw)
	if err != nil {
		return false, err
	}
	if status, is := source["status"].(map[string]any); is && t.complete == nil {
		delete(status, "v1") // which belongs to the rest of the status
	}
	source["apiVersion"], source["kind"] = t.apiVersion, "Any"
	if wild {
		for range 1 + random.IntN(4) {
			corrupt(random, source, "spec", "status", "other")
		}
	}
	if raw, err = json.Marshal(source); err != nil {
		return false, err
	}
	there, err := t.converter.Convert(raw, t.to)
	if err != nil {
		return false, fmt.Errorf("%s: %w", raw, err)
	}
	back, err := t.converter.Convert(there, t.from)
	if err != nil {
		return false, fmt.Errorf("%s, which came from %s: %w", there, raw, err)
	}
	again, err := parse(back)
	if err != nil {
		return false, fmt.Errorf("%s: %w", back, err)
	}
	// A template of nothing is as good as any other such where v1 has a workload or a selector.
	if spec, is := source["spec"].(map[string]any); is && t.complete == nil && hollow(spec["template"]) {
		delete(spec, "template")
	}
	if !keeps(again, source) && !t.alike(raw, back) || t.complete != nil && !keeps(source["status"], again["status"]) {
		return false, fmt.Errorf("something was lost\nof     %s\nthrough %s\nback   %s", raw, there, back)
	}
	return bytes.Contains(there, []byte(common.ConversionDataAnnotation)) || bytes.Contains(there, []byte(common.V1Alpha1DataAnnotation)), nil
}

// alike reports whether two objects of v1, which their type knows in full, differ in defaults alone: one that is
// absent and one that stands there mean the same.
func (t traveler) alike(a, b []byte) bool {
	var written [2]any
	for i, raw := range [][]byte{a, b} {
		object := t.blank()
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if t.complete == nil || decoder.Decode(object) != nil {
			return false
		}
		t.complete(object)
		again, err := json.Marshal(object)
		if err != nil {
			return false
		}
		if written[i], err = parse(again); err != nil {
			return false
		}
	}
	return keeps(written[0], written[1]) && keeps(written[1], written[0])
}

// filler makes objects as a client could send them, small ones, with odd texts where a format is asked.
func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.5).NumElements(0, 3).MaxDepth(10).Funcs(
		func(at *metav1.Time, c randfill.Continue) { *at = metav1.Unix(c.Int63n(1<<33), 0).Rfc3339Copy() },
		func(*metav1.TypeMeta, randfill.Continue) {},
		func(carried *apiruntime.RawExtension, _ randfill.Continue) { carried.Raw = []byte(`{}`) },
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			if m.Name = c.String(8); c.Bool() {
				m.Annotations = map[string]string{"example.com/x": c.String(8)}
			}
		},
		func(d *common.Duration, c randfill.Continue) {
			*d = []common.Duration{"1s", "90s", "1500ms", "0s", "1h", "soon", common.Duration(c.String(6)), "9999999h"}[c.Intn(8)]
		},
		func(a *networkingv1.IPAddress, c randfill.Continue) {
			*a = networkingv1.IPAddress([]string{"192.0.2.1", "2001:db8::1", "::ffff:1.2.3.4", c.String(6)}[c.Intn(4)])
		},
		func(p *corev1.PodTemplateSpec, c randfill.Continue) {
			p.Spec.Containers = []corev1.Container{{Name: c.String(4), Image: c.String(8)}}
		},
	)
}

// oddities are values that stand where a type expects another one, or nothing.
var oddities = []string{
	`null`, `true`, `5`, `5.0`, `-0`, `1e2`, `0.5`, `12345678901234567890`, `""`, `"text"`, `"2026-01-01T00:00:00.5+01:00"`, `"\u0000\"\\\ud83d\ude00"`,
	`[]`, `{}`, `[null]`, `[1,"a",{"name":"x"}]`, `{"later":{"x":[1]}}`, `{"name":null,"port":"http"}`, `[{"name":"a"},{"name":"a"}]`,
}

// corrupt puts an oddity somewhere below one of the members of an object, or takes something away.
func corrupt(random *rand.Rand, object map[string]any, names ...string) {
	name := names[random.IntN(len(names))]
	for {
		child, deeper := object[name].(map[string]any)
		if list, isList := object[name].([]any); isList && len(list) > 0 {
			child, deeper = list[random.IntN(len(list))].(map[string]any)
		}
		if !deeper || random.IntN(4) == 0 {
			break
		}
		if object, name = child, "later"; len(child) > 0 && random.IntN(8) > 0 {
			names = names[:0:0]
			for member := range child {
				names = append(names, member)
			}
			slices.Sort(names)
			name = names[random.IntN(len(names))]
		}
	}
	if random.IntN(8) == 0 {
		delete(object, name)
		return
	}
	odd, err := parse([]byte(`{"odd":` + oddities[random.IntN(len(oddities))] + `}`))
	if err == nil {
		object[name] = odd["odd"]
	}
}

func parse(raw []byte) (object map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return object, decoder.Decode(&object)
}

// keeps reports whether all of what was there is there still. Nulls mean nothing, and neither do an empty
// status and empty metadata.
func keeps(now, was any) bool {
	switch was := was.(type) {
	case nil:
		return true
	case map[string]any:
		now, ok := now.(map[string]any)
		for name, value := range was {
			if object, is := value.(map[string]any); is && len(object) == 0 && (name == "status" || name == "metadata") {
				continue
			}
			ok = ok && keeps(now[name], value)
		}
		return ok
	case []any:
		now, ok := now.([]any)
		if !ok || len(now) != len(was) {
			return false
		}
		for i := range was {
			if !keeps(now[i], was[i]) {
				return false
			}
		}
		return true
	case json.Number:
		now, ok := now.(json.Number)
		return ok && sameNumber(now, was)
	}
	return now == was
}

// hollow reports whether there is nothing in a value.
func hollow(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			if !hollow(member) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	}
	return value == nil
}

func sameNumber(a, b json.Number) bool {
	x, errX := a.Float64()
	y, errY := b.Float64()
	return a == b || errX == nil && errY == nil && x == y && (x != float64(int64(x)) || x < 1<<53 && x > -1<<53)
}
