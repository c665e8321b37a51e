// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// maxAddresses of a name are asked. They are asked at once, so that one that hangs does not use up
// the time of the others.
const maxAddresses = 8

// checkAny asks what a name leads to now. One address that is well is enough, and ends the others.
func (a *checker) checkAny(ctx context.Context, q *checkPlan, at dialTarget, deadline time.Time) outcome {
	addresses, err := a.lookup(ctx, at.host)
	if err != nil || len(addresses) == 0 {
		return unresolved
	}
	addresses = addresses[:min(len(addresses), maxAddresses)]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]outcome, len(addresses))
	var asking sync.WaitGroup
	for i, ip := range addresses {
		there := at
		there.IP = ip
		asking.Go(func() {
			if !ip.IsValid() {
				results[i] = unresolved
				return
			}
			results[i] = local // what a panic leaves: the address was not asked
			panics.Go("probe", func() { results[i] = a.check(ctx, q, there, time.Until(deadline)) })
			if results[i] == connected {
				cancel()
			}
		})
	}
	asking.Wait()
	return bestOutcome(results)
}

// bestOutcome is the result of a name whose addresses have these: one that is well, else a failure, else
// that it could not be asked.
func bestOutcome(results []outcome) outcome {
	rank := func(o outcome) int {
		switch {
		case o == connected:
			return 3
		case o == local:
			return 1
		case o.isNotProbed():
			return 0
		}
		return 2
	}
	found := results[0]
	for _, result := range results[1:] {
		if rank(result) > rank(found) {
			found = result
		}
	}
	return found
}
