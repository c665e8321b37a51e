// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"testing"
	"time"
)

func TestNamesAreCountedWhereverTheTextIsCut(t *testing.T) {
	text := bytes.Repeat([]byte(`{"metadata":{"name":"listed-12"},"spec":{"name":"other"}},`), 3)
	for size := 1; size <= len(text); size++ {
		var c counter
		for rest := text; len(rest) > 0; {
			n := min(size, len(rest))
			_, _ = c.Write(rest[:n]) // never fails
			rest = rest[n:]
		}
		if c.n != 3 {
			t.Fatalf("%d names in pieces of %d bytes, want 3", c.n, size)
		}
	}
}

// It needs the programs of the control plane, and builds them where they are not there.
func TestRequestsThroughAnAPIServerAreMeasuredForEverySide(t *testing.T) {
	results, written, err := RunLists(t.Context(), ListOptions{Root: "../..", Sizes: []int{20}, Rounds: 1, Limit: 10 * time.Minute, Output: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	if l := results[0]; len(results) != 1 || l.Calls < 20 || l.Ours.Median <= 0 || l.Stock.Median <= 0 || l.Echo.Median <= 0 || l.Plain.Median <= 0 {
		t.Errorf("listed %+v", results)
	}
	if entries := results[0].Entries(); entries[0].Name != "list/v1alpha1/20" || entries[1].Name != "list/echo/20" || entries[2].Name != "list/v1/20" || entries[2].Ratio != 0 {
		t.Errorf("the entries are %+v", entries)
	}
	for _, w := range written {
		if w.Ours.Median <= 0 || w.Stock.Median <= 0 || w.Empty.Median <= 0 || w.Plain.Median <= 0 || len(w.Entries()) != 3 {
			t.Errorf("written %+v", w)
		}
	}
	if len(written) != 2 {
		t.Errorf("%d verbs are measured, want create and update", len(written))
	}
}
