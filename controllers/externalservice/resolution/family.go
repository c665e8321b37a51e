// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"cmp"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/internal/dns"
)

const (
	// maxAddresses limits the addresses of a name.
	maxAddresses = 100
	// poolSize is from how many addresses on an answer is taken for a selection out of a pool.
	poolSize = 8
	// returnWindow is for how many TTLs an address that left is remembered, to notice that it returns.
	returnWindow = 20
	// maxMissed is in how many answers in a row an address of a pool may be missing at least, and maxAbsence for how
	// long at most. Where answers are small, it may be in maxMissedRounds times as many as it takes to see the pool once:
	// of 20 addresses that come two at a time, one is missing in ten answers in a row every third time.
	maxMissed       = 10
	maxMissedRounds = 5
	maxAbsence      = time.Hour
	// rotationReturns is in how many lookups addresses must have returned for a small answer to be one of a rotation,
	// and poolReturns for it to be one of a pool, and not of a failover and its failback.
	rotationReturns = 2
	poolReturns     = 4
	// pairReturns is in how many where there is one address at a time out of two: the name of a database flips while a
	// server takes over from the other, and the one that was left refuses writes.
	pairReturns = 6
	// minNegatives is after how many answers without records in a row addresses are removed.
	minNegatives = 2
)

// seenAddress is an address with its history.
type seenAddress struct {
	address dns.Address
	seen    time.Time
	// keepUntil is how long the address stays in a rotation.
	keepUntil time.Time
	// missedAnswers is how many answers in a row lacked it.
	missedAnswers int
	// inUse means that it is published; others are kept to notice that they return. seeded means that no answer
	// had it yet.
	inLastAnswer, inUse, seeded bool
}

// family holds the addresses of one family.
type family struct {
	// addresses are sorted by address.
	addresses []seenAddress
	// lastResolved is when the family last resolved, and lastOutcome how its last lookup ended.
	lastResolved time.Time
	lastOutcome  dns.Outcome
	// negatives is how many answers in a row had no records while the other family resolved.
	negatives int
	// seedConfirmed means that an answer had an address of the seed.
	seedConfirmed bool
	// returns are the times of the last lookups in which an address returned, the latest first.
	returns [pairReturns]time.Time
	// surplus is how many addresses were found beyond maxAddresses.
	surplus int
}

// seed sets the addresses that no answer had yet: those of an earlier process, or of what the name replaces.
func (f *family) seed(addresses []dns.Address, at time.Time) {
	f.lastResolved, f.addresses = at, nil
	for _, address := range firstOf(addresses) {
		f.addresses = append(f.addresses, seenAddress{address: address, seen: at, inLastAnswer: true, inUse: true, seeded: true})
	}
}

// applyAddresses applies an answer with addresses. interval is the time between lookups.
func (f *family) applyAddresses(p dns.FamilyAnswer, s settings, interval time.Duration, now time.Time) {
	f.lastResolved, f.negatives = now, 0
	found := sorted(p.Addresses)
	f.surplus = max(0, len(found)-maxAddresses)
	hold, window := 2*interval+interval/4, returnWindow*interval
	known := f.merge(found[:min(len(found), maxAddresses)], hold, now)
	rotation, pool := returnsOf(len(found), len(known))
	r := retention{
		now: now, rotates: f.returned(rotation, window, now), isPool: f.returned(pool, window, now), isLarge: len(p.Addresses) >= poolSize,
		seedConfirmed: f.seedConfirmed, mayMiss: max(maxMissed, maxMissedRounds*f.count()/max(1, len(found))),
	}
	for i := range known {
		each := &known[i]
		switch {
		case each.inLastAnswer:
		case p.Partial || slices.Contains(p.Former, each.address):
			each.inUse = each.inUse && now.Sub(each.seen) < max(s.keepFor, hold)
		default:
			each.inUse = each.inUse && r.keeps(each)
		}
	}
	f.addresses = slices.DeleteFunc(known, func(each seenAddress) bool {
		return !each.inUse && now.Sub(each.seen) > window
	})
	f.trim()
}

// merge returns the addresses that were found and those that were known, sorted, and records whether any returned.
func (f *family) merge(found []dns.Address, hold time.Duration, now time.Time) []seenAddress {
	all := make([]seenAddress, 0, len(f.addresses)+len(found))
	hasReturned := false
	rest := f.addresses
	for _, address := range found {
		for len(rest) > 0 && rest[0].address.Compare(address) < 0 {
			all, rest = append(all, rest[0].missing(hold)), rest[1:]
		}
		if len(rest) > 0 && rest[0].address == address {
			f.seedConfirmed = f.seedConfirmed || rest[0].seeded
			hasReturned = hasReturned || !rest[0].inLastAnswer
			rest = rest[1:]
		}
		all = append(all, seenAddress{address: address, seen: now, keepUntil: now.Add(hold), inLastAnswer: true, inUse: true})
	}
	for _, each := range rest {
		all = append(all, each.missing(hold))
	}
	if hasReturned {
		copy(f.returns[1:], f.returns[:])
		f.returns[0] = now
	}
	return all
}

// returned reports whether addresses have returned in so many lookups within a time.
func (f *family) returned(times int, within time.Duration, now time.Time) bool {
	return times == 0 || !f.returns[times-1].IsZero() && now.Sub(f.returns[times-1]) <= within
}

// retention is which of the addresses that an answer lacks stay.
type retention struct {
	now time.Time
	// rotates, isPool and isLarge say whether the answer counts as a rotation, a pool, and one of 8 addresses or more. An
	// address of a pool may be missing in mayMiss answers in a row.
	rotates, isPool, isLarge bool
	mayMiss                  int
	seedConfirmed            bool
}

func (r *retention) keeps(a *seenAddress) bool {
	inherited := a.seeded && r.seedConfirmed
	return (r.rotates || inherited) && r.now.Before(a.keepUntil) ||
		(r.isPool || r.isLarge && inherited) && a.missedAnswers <= r.mayMiss && (a.seeded || r.now.Sub(a.seen) < maxAbsence)
}

// returnsOf returns in how many lookups addresses must have returned for an answer to be one of a rotation, and for it to be
// one of a pool. known is how many addresses there were within returnWindow.
func returnsOf(found, known int) (rotation, pool int) {
	switch {
	case found >= poolSize:
		return 0, rotationReturns
	case found == 1 && known == 2:
		return pairReturns, pairReturns
	}
	return rotationReturns, poolReturns
}

// missing returns the sighting as one that the last answer did not have.
func (a seenAddress) missing(hold time.Duration) seenAddress {
	a.inLastAnswer = false
	a.missedAnswers++
	if a.seeded {
		a.keepUntil = a.seen.Add(hold)
	}
	return a
}

// trim keeps the addresses that were seen last: at most maxAddresses in use, and as many that are not.
func (f *family) trim() {
	if len(f.addresses) <= maxAddresses {
		return
	}
	slices.SortFunc(f.addresses, func(a, b seenAddress) int {
		return cmp.Or(b.seen.Compare(a.seen), a.address.Compare(b.address))
	})
	shown, remembered := 0, 0
	f.addresses = slices.DeleteFunc(f.addresses, func(each seenAddress) bool {
		if each.inUse {
			if shown++; shown > maxAddresses {
				f.surplus = max(f.surplus, 1) // how many it is changes with each answer of a rotation
			}
			return shown > maxAddresses
		}
		remembered++
		return remembered > maxAddresses
	})
	slices.SortFunc(f.addresses, func(a, b seenAddress) int { return a.address.Compare(b.address) })
}

// applyNoRecords applies an answer without records while the other family resolves.
func (f *family) applyNoRecords() {
	if f.negatives++; f.negatives >= minNegatives {
		f.addresses, f.surplus = nil, 0
	}
}

// expire removes the addresses once their time is over.
func (f *family) expire(at, now time.Time) {
	if !at.IsZero() && !now.Before(at) {
		f.addresses, f.surplus = nil, 0
	}
}

// isKept reports whether addresses are in use although the last lookup failed.
func (f *family) isKept() bool {
	return f.lastOutcome != "" && f.lastOutcome != dns.Resolved && f.count() > 0
}

func (f *family) count() int {
	n := 0
	for _, each := range f.addresses {
		if each.inUse {
			n++
		}
	}
	return n
}

// newest returns the addresses in use that were seen last, at most n, sorted.
func (f *family) newest(n int) []dns.Address {
	var shown []seenAddress
	for _, each := range f.addresses {
		if each.inUse {
			shown = append(shown, each)
		}
	}
	if len(shown) > n {
		slices.SortFunc(shown, func(a, b seenAddress) int {
			return cmp.Or(b.seen.Compare(a.seen), a.address.Compare(b.address))
		})
		shown = shown[:n]
	}
	addresses := make([]dns.Address, 0, len(shown))
	for _, each := range shown {
		addresses = append(addresses, each.address)
	}
	slices.SortFunc(addresses, dns.Address.Compare)
	return addresses
}

// firstOf returns the addresses, sorted and unique, at most maxAddresses.
func firstOf(addresses []dns.Address) []dns.Address {
	addresses = sorted(addresses)
	return addresses[:min(len(addresses), maxAddresses)]
}

func sorted(addresses []dns.Address) []dns.Address {
	addresses = slices.Clone(addresses)
	slices.SortFunc(addresses, dns.Address.Compare)
	return slices.Compact(addresses)
}
