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

// Run compares as many objects as Variable says, others at each run, and logs the results.
func Run[T any](t *testing.T, o Options[T]) {
	t.Helper()
	wanted := objects(t)
	comparison := NewComparison(t, o)
	began, first := time.Now(), uint64(time.Now().UnixNano())
	var next, accepted, updates, forgiving, skipped, differing atomic.Uint64
	count := func(counter *atomic.Uint64, counts bool) {
		if counts {
			counter.Add(1)
		}
	}
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for i := next.Add(1); i <= wanted && differing.Load() < shown; i = next.Add(1) {
				result := comparison.Compare(context.WithoutCancel(t.Context()), RandomChoices(first+i))
				count(&accepted, result.Accepted)
				count(&updates, result.Update)
				count(&forgiving, result.Forgiving)
				count(&skipped, result.Skipped)
				if result.Difference != "" {
					differing.Add(1)
					t.Errorf("seed %d: %s", first+i, result.Difference)
				}
			}
		})
	}
	working.Wait()
	t.Logf("%s: %d objects in %s, %d accepted (%d %%), %d updates of which %d of invalid objects, %d unfit for the Go type: %d disagreements",
		o.Resource, wanted, time.Since(began).Round(time.Second), accepted.Load(), 100*accepted.Load()/wanted,
		updates.Load(), forgiving.Load(), skipped.Load(), differing.Load())
	if share := 100 * accepted.Load() / wanted; share < 30 || share > 70 {
		t.Errorf("%d %% of the objects were accepted: the mutator is one-sided", share)
	}
}

// objects returns how many objects Run compares.
func objects(t *testing.T) uint64 {
	t.Helper()
	given := os.Getenv(Variable)
	if given == "" {
		return usual
	}
	n, err := strconv.ParseUint(given, 10, 64)
	if err != nil || n == 0 {
		t.Fatalf("%s=%s: give a number of objects", Variable, given)
	}
	return n
}
