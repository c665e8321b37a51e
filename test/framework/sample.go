// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

const (
	// LongVariable has tests run the whole of what they otherwise take a sample of: `make test-all`.
	LongVariable = "FAIRLEAD_TEST_LONG"
	// SeedVariable repeats the samples of an earlier run. The default is the date.
	SeedVariable = "FAIRLEAD_TEST_SEED"
)

// Long reports whether tests run whole.
func Long() bool { return os.Getenv(LongVariable) != "" }

// Sampler draws the same from the same seed in the same test.
type Sampler struct{ random *rand.Rand }

// Pace returns the pause between two requests of a client that loads a control plane for minutes: d in a long run, and
// three times as long otherwise.
func Pace(d time.Duration) time.Duration {
	if Long() {
		return d
	}
	return 3 * d
}

// Seed returns the seed of samples, a number.
func Seed() string {
	return cmp.Or(os.Getenv(SeedVariable), time.Now().UTC().Format("20060102"))
}

// NewSampler returns the sampler of a test, whose log says how to repeat it.
func NewSampler(t testing.TB) *Sampler {
	t.Helper()
	seed, err := strconv.ParseUint(Seed(), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", SeedVariable, err)
	}
	if !Long() {
		t.Logf("a sample: repeat it with %s=%d, and run all of it with %s=1", SeedVariable, seed, LongVariable)
	}
	name := fnv.New64a()
	_, _ = name.Write([]byte(t.Name()))
	return &Sampler{rand.New(rand.NewPCG(seed, name.Sum64()))} //nolint:gosec // a sample that can be repeated
}

// Sample returns n of all, in their order, and all of them in a long run.
func Sample[T any](s *Sampler, n int, all []T) []T {
	if Long() || n >= len(all) {
		return all
	}
	chosen := make([]bool, len(all))
	for _, i := range s.random.Perm(len(all))[:n] {
		chosen[i] = true
	}
	some := make([]T, 0, n)
	for i, one := range all {
		if chosen[i] {
			some = append(some, one)
		}
	}
	return some
}
