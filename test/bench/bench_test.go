// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// BenchmarkHandlers is for benchstat and for profiles of one side of one case, such as
//
//	go test ./bench -run '^$' -bench 'Handlers/conversion/v1-v1alpha1/4KB/fairlead' -cpuprofile cpu.out
func BenchmarkHandlers(b *testing.B) {
	cases, err := Cases()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range cases {
		for name, side := range map[string]*call{"fairlead": c.ours, "stock": c.stock} {
			b.Run(c.Name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					side.send()
				}
			})
		}
	}
}

// Cases fails where the two sides do not come to the same.
func TestBothSidesAnswerEveryCaseAlike(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		names[c.Name] = true
		wanted, named := map[string]int{"2KB": 2048, "4KB": 4096}[c.Name[strings.LastIndexByte(c.Name, '/')+1:]]
		if named && math.Abs(float64(c.Object-wanted)) > float64(wanted)/10 {
			t.Errorf("%s: the object has %d bytes, which is not %d by more than a tenth", c.Name, c.Object, wanted)
		}
		t.Logf("%s: %d bytes, %s", c.Name, c.Object, c.Note)
	}
}

func TestACheckFailsWhereTheAnswersDiffer(t *testing.T) {
	obj, err := load("v1.2KB")
	if err != nil {
		t.Fatal(err)
	}
	other, err := edited(obj)
	if err != nil {
		t.Fatal(err)
	}
	if err := alike(obj, obj); err != nil {
		t.Errorf("an object differs from itself: %v", err)
	}
	if alike(obj, other) == nil {
		t.Error("objects that differ by an endpoint count as alike")
	}
	if _, err := losses(other, obj, other); err == nil {
		t.Error("a lost endpoint was not noticed")
	}
}

func TestARunMeasuresBothSidesInEveryRound(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	results, err := Run(t.Context(), cases[:1], Options{Rounds: 3, Slot: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	r := results[0]
	if len(r.rounds) != 3 {
		t.Fatalf("%d rounds instead of 3", len(r.rounds))
	}
	for _, c := range []Comparison{r.Allocs, r.Bytes} {
		if c.Ours.Least <= 0 || c.Stock.Least <= 0 || c.Ratio <= 0 {
			t.Errorf("a figure is missing: %+v", c)
		}
	}
	var written strings.Builder
	if err := WriteJSON(&written, results); err != nil {
		t.Fatal(err)
	}
	var entries []Entry
	if err := json.Unmarshal([]byte(written.String()), &entries); err != nil {
		t.Fatal(err)
	}
	for i, suffix := range []string{"", "/allocs", "/bytes"} {
		if len(entries) != 3 || entries[i].Name != r.Name+suffix {
			t.Fatalf("the entries of %s are %+v", r.Name, entries)
		}
	}
}
