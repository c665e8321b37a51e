// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validationtest

import (
	"context"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Variable is the environment variable that says how many objects of each kind Run compares.
const Variable = "FAIRLEAD_COMPARED_OBJECTS"

const (
	usual      = 600 // objects, in seconds
	shown      = 5   // differences
	workers    = 2
	seedsGiven = 40
)

// Fuzz has a fuzzer choose the objects.
func Fuzz[T any](f *testing.F, o Options[T]) {
	f.Helper()
	comparison := NewComparison(f, o)
	for seed := range uint64(seedsGiven) {
		f.Add(RandomChoices(seed).Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if result := comparison.Compare(t.Context(), NewChoices(data)); result.Difference != "" {
			t.Error(result.Difference)
		}
	})
}

// Run compares as many objects as Variable says, others at each run, and logs what came of it.
func Run[T any](t *testing.T, o Options[T]) {
	t.Helper()
	comparison := NewComparison(t, o)
	wanted := uint64(usual)
	if given := os.Getenv(Variable); given != "" {
		var err error
		if wanted, err = strconv.ParseUint(given, 10, 64); err != nil || wanted == 0 {
			t.Fatalf("%s=%s: give a number of objects", Variable, given)
		}
	}
	began, first := time.Now(), uint64(time.Now().UnixNano())
	var next, accepted, updates, forgiving, skipped, differing atomic.Uint64
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for i := next.Add(1); i <= wanted && differing.Load() < shown; i = next.Add(1) {
				result := comparison.Compare(context.WithoutCancel(t.Context()), RandomChoices(first+i))
				for counter, counts := range map[*atomic.Uint64]bool{&accepted: result.Accepted, &updates: result.Update, &forgiving: result.Forgiving, &skipped: result.Skipped} {
					if counts {
						counter.Add(1)
					}
				}
				if result.Difference != "" {
					differing.Add(1)
					t.Errorf("seed %d: %s", first+i, result.Difference)
				}
			}
		})
	}
	working.Wait()
	t.Logf("%s: %d objects in %s, %d accepted (%d %%), %d updates of which %d of invalid objects, %d unfit for the Go type: %d disagreements",
		o.Resource, wanted, time.Since(began).Round(time.Second), accepted.Load(), 100*accepted.Load()/wanted, updates.Load(), forgiving.Load(), skipped.Load(), differing.Load())
	if share := 100 * accepted.Load() / wanted; share < 30 || share > 70 {
		t.Errorf("%d %% of the objects were accepted: the mutator is one-sided", share)
	}
}
