// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"
)

const (
	// tick is how often it is looked whether another check has failed. The moment of the look
	// before counts, so a latency is never measured too short, and at most so much too long.
	tick = 5 * time.Millisecond
	// detection is how long all of it may take.
	detection = 5 * time.Minute
	// attempts to begin between two checks of every address.
	attempts = 20
)

// failure is an address that is made to fail.
type failure struct {
	address netip.Addr
	// before is how many connections it had until then.
	before int
	// met is when it had had as many more as it takes; zero before.
	met time.Time
	// published is when it was no longer ready; zero before.
	published time.Time
}

// fail has one address of each object that is watched fail, all at the same time, and measures the
// time from the last check that it takes to the EndpointSlice that says so.
func (r *run) fail(ctx context.Context) error {
	all, err := r.fault()
	if err != nil {
		return err
	}
	began := time.Now()
	before := began
	err = r.until(ctx, tick, func() (bool, error) {
		now := time.Now()
		open := 0
		for _, f := range all {
			if f.met.IsZero() && r.http.Count(f.address) >= f.before+failures {
				f.met = before
			}
			if ready, since := r.board.of(f.address); f.published.IsZero() && !ready {
				f.published = since
			}
			if f.met.IsZero() || f.published.IsZero() {
				open++
			}
		}
		before = now
		if now.Sub(began) > detection {
			return false, fmt.Errorf("after %s, %d of %d failures are not published", detection, open, len(all))
		}
		return open == 0, nil
	})
	if err != nil {
		return err
	}
	r.result.Detection = detectionOf(all)
	r.say("failures were published after %s (p50), %s (p99)", r.result.Detection.P50, r.result.Detection.P99)
	return r.http.Fail()
}

// fault makes addresses fail, in a moment in which none of them is checked: else it would not be
// known which check was the first to fail.
func (r *run) fault() ([]*failure, error) {
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // no secret
	for range attempts {
		all := make([]*failure, len(r.watched))
		addresses := make([]netip.Addr, len(all))
		for i, object := range r.watched {
			addresses[i] = Own(object)[random.IntN(PerObject)]
			all[i] = &failure{address: addresses[i], before: r.http.Count(addresses[i])}
		}
		if err := r.http.Fail(addresses...); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(f *failure) bool { return r.http.Count(f.address) != f.before }) {
			return all, nil
		}
		if err := r.http.Fail(); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("there is no moment in which no address is checked")
}

// Detection is how long it took from the check that decided to the EndpointSlice that says so.
type Detection struct {
	// Measured failures, and those that were not: the operator counted a check that never
	// reached the other end, such as one that took too long.
	Measured, Unmeasured int
	P50, P99, Max        time.Duration
}

func detectionOf(all []*failure) Detection {
	var d Detection
	var took []time.Duration
	for _, f := range all {
		if f.published.Before(f.met) {
			d.Unmeasured++
			continue
		}
		took = append(took, f.published.Sub(f.met))
	}
	slices.Sort(took)
	d.Measured = len(took)
	d.P50, d.P99, d.Max = quantile(took, 50), quantile(took, 99), quantile(took, 100)
	return d
}

// quantile of sorted values is the least that so many percent of them do not exceed; 0 of none.
func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max((len(sorted)*percent+99)/100, 1)-1]
}
