// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import "time"

const (
	// queryRate is how many queries a second a namespace may cause, and queryBurst for how long it may cause more
	// after it has caused less.
	queryRate  = 1000
	queryBurst = 2 * time.Second
	// maxBudgets is how many namespaces are remembered before those that owe nothing are dropped.
	maxBudgets = 1024
)

// budgets bound the queries that the names of each namespace cause: who writes names and answers them chooses how
// many there are of a lookup. A namespace pays after a lookup, and its next ones wait until it owes nothing. The zero
// value is ready for use.
type budgets struct {
	// paid is until when the queries of a namespace so far would have been sent at queryRate.
	paid map[string]time.Time
}

// charge counts queries of a namespace.
func (b *budgets) charge(namespace string, queries int, now time.Time) {
	if len(b.paid) >= maxBudgets {
		for of, paid := range b.paid {
			if paid.Before(now.Add(-queryBurst)) {
				delete(b.paid, of)
			}
		}
	}
	if b.paid == nil {
		b.paid = map[string]time.Time{}
	}
	paid := b.paid[namespace]
	if idle := now.Add(-queryBurst); paid.Before(idle) {
		paid = idle
	}
	b.paid[namespace] = paid.Add(time.Duration(queries) * time.Second / queryRate)
}

// earliest returns at, or when the namespace may cause queries again where that is later.
func (b *budgets) earliest(namespace string, at time.Time) time.Time {
	if paid := b.paid[namespace]; paid.After(at) {
		return paid
	}
	return at
}
