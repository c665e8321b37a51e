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
	// tick is how often the listener's connections are counted. A latency counts from the count before, so it is never
	// too short, and too long by one tick at most.
	tick = 5 * time.Millisecond
	// detection bounds the whole measurement.
	detection = 5 * time.Minute
	// attempts is how many times a failure is injected until it falls between two checks of every address.
	attempts = 20
)

// failure is an address that is made to fail.
type failure struct {
	address netip.Addr
	// before is how many connections the address had before it failed.
	before int
	// met is when failures further connections had been made; zero before.
	met time.Time
	// published is when the address was no longer ready; zero before.
	published time.Time
}

// fail makes one address of each watched object fail, all at the same time. It measures the time from the last check
// that is needed to the EndpointSlice that shows the failure.
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

// fault makes addresses fail at a time when none of them is checked. Otherwise, it would not be known which check
// failed first.
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

// Detection is the time from the decisive check until the EndpointSlice shows the failure.
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

// quantile returns the smallest of sorted values that is not exceeded by a percentage of them; 0 if there are none.
func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max((len(sorted)*percent+99)/100, 1)-1]
}
