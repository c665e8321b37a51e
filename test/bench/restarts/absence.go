// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"time"
)

// absence changes a Secret of some workloads while no operator runs. Nothing tells the next one that
// anything has changed.
func (r *run) absence(ctx context.Context) error {
	r.retire()
	r.board.begin()
	r.result.Away = min(away, r.options.Workloads)
	err := each(ctx, r.result.Away, writers, func(ctx context.Context, i int) error { return r.change(ctx, r.spread(i), 1, 2) })
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.lead(ctx); err != nil {
		return err
	}
	var ended time.Time
	err = r.until(ctx, pace, func() (bool, error) {
		var done bool
		done, ended = r.board.drained(r.result.Away)
		return done || time.Since(began) > patience, nil
	})
	if err != nil {
		return err
	}
	r.result.Returned = ended.Sub(began)
	if err := r.pause(ctx, calm); err != nil {
		return err
	}
	for i := range r.options.Workloads {
		written, _ := r.board.state(r.key(i))
		switch {
		case r.changedAway(i) && written == 0:
			r.result.Missed++
		case r.changedAway(i) && written > 1 || !r.changedAway(i) && written > 0:
			r.result.Needless++
		}
	}
	return nil
}

// patience is how long a change is waited for that happened while no operator ran. What is not
// restarted then has been missed.
const patience = 2 * time.Minute

// spread takes workloads from all over.
func (r *run) spread(i int) int { return i * (r.options.Workloads / r.result.Away) }

func (r *run) changedAway(workload int) bool {
	step := r.options.Workloads / r.result.Away
	return workload%step == 0 && workload/step < r.result.Away
}
