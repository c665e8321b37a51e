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
	// returnWindow is for how many answers an address that left is remembered, to notice that it returns.
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
	// missedAnswers is how many answers in a row lacked it, and absent for how long: time in which the family did not
	// resolve does not count. In a rotation it stays while absent is less than hold.
	missedAnswers int
	absent, hold  time.Duration
	// inUse means that it is published; others are kept to notice that they return. seeded means that no answer
	// had it yet.
	inLastAnswer, inUse, seeded bool
}

// family holds the addresses of one family.
type family struct {
	// addresses are sorted by address.
	addresses []seenAddress
	// refused are the addresses of the last answer that may not be published, sorted, at most maxAddresses.
	refused []dns.Address
	// lastResolved is when the family last resolved, and lastOutcome how its last lookup ended.
	lastResolved time.Time
	lastOutcome  dns.Outcome
	// negatives is how many answers in a row had no records while the other family resolved.
	negatives int
	// isInherited means that the addresses are those which an earlier process had of the name, and that no complete answer
	// says yet whether they are a pool. seedConfirmed means that an answer had an address of the seed.
	isInherited, seedConfirmed bool
	// answers is how many answers had addresses, and interval the time until the next lookup after the last of them.
	answers  int
	interval time.Duration
	// returns are the last answers in which an address returned, by their number, the latest first.
	returns [pairReturns]int
	// surplus is how many addresses were found beyond maxAddresses.
	surplus int
}

// seed sets the addresses that no answer had yet: those of an earlier process, or of what the name replaces.
func (f *family) seed(addresses []dns.Address, at time.Time, verdict func(dns.Address, bool) Verdict) {
	f.lastResolved, f.addresses, f.refused = at, nil, nil
	for _, address := range firstOf(addresses) {
		if verdict(address, true) != Usable {
			f.refused = append(f.refused, address)
			continue
		}
		f.addresses = append(f.addresses, seenAddress{address: address, seen: at, inLastAnswer: true, inUse: true, seeded: true})
	}
	f.isInherited = !at.IsZero() && len(f.addresses) > 0
}

// refuse returns an answer without the addresses that may not be published. One that has no other is Denied, and
// isUnreachable where it is merely of a family that the Service lacks.
func (f *family) refuse(p dns.FamilyAnswer, verdict func(dns.Address, bool) Verdict) (rest dns.FamilyAnswer, isUnreachable bool) {
	f.refused = nil
	if p.Outcome != dns.Resolved {
		return p, false
	}
	found := p.Addresses
	p.Addresses, isUnreachable = nil, true
	for _, address := range found {
		v := verdict(address, f.has(address))
		if v == Usable {
			p.Addresses = append(p.Addresses, address)
		} else {
			f.refused = append(f.refused, address)
		}
		isUnreachable = isUnreachable && v == Unreachable
	}
	f.refused = firstOf(f.refused)
	if len(p.Addresses) == 0 && !isUnreachable {
		p.Outcome = dns.Denied
	}
	return p, isUnreachable
}

// admit uses the addresses of the last answer that may be published by now, as of the time at which they were found, and
// reports whether there are any. Before the first answer they are of the seed.
func (f *family) admit(verdict func(dns.Address, bool) Verdict, foundAt time.Time) bool {
	found := slices.Clone(f.refused)
	found = slices.DeleteFunc(found, func(a dns.Address) bool { return verdict(a, false) != Usable })
	if len(found) == 0 {
		return false
	}
	f.refused = slices.DeleteFunc(f.refused, func(a dns.Address) bool { return slices.Contains(found, a) })
	isSeeded := f.lastOutcome == ""
	for _, address := range found {
		f.addresses = slices.DeleteFunc(f.addresses, func(is seenAddress) bool { return is.address == address })
		f.addresses = append(f.addresses, seenAddress{
			address: address, seen: foundAt, hold: 2 * f.interval, inLastAnswer: true, inUse: true, seeded: isSeeded,
		})
	}
	slices.SortFunc(f.addresses, func(a, b seenAddress) int { return a.address.Compare(b.address) })
	if !isSeeded {
		f.lastOutcome, f.lastResolved, f.negatives = dns.Resolved, foundAt, 0
	}
	f.trim()
	return true
}

// has reports whether an address is in use.
func (f *family) has(address dns.Address) bool {
	i, found := slices.BinarySearchFunc(f.addresses, address, func(is seenAddress, of dns.Address) int { return is.address.Compare(of) })
	return found && f.addresses[i].inUse
}

// applyAddresses applies an answer with addresses. interval is the time between lookups.
func (f *family) applyAddresses(p dns.FamilyAnswer, s settings, interval time.Duration, now time.Time) {
	since := min(max(now.Sub(f.lastResolved), 0), cmp.Or(f.interval, interval))
	f.answers++
	f.lastResolved, f.interval, f.negatives = now, interval, 0
	found := sorted(p.Addresses)
	f.surplus = max(0, len(found)-maxAddresses)
	hold, before := 2*interval+interval/4, f.count()
	known := f.merge(found[:min(len(found), maxAddresses)], hold, since, now)
	if f.isInherited && !p.IsIncomplete() {
		f.inherit(before, len(found))
	}
	rotation, pool := returnsOf(len(found), len(known))
	r := retention{
		rotates: f.returned(rotation), isPool: f.returned(pool), seedConfirmed: f.seedConfirmed,
		mayMiss: max(maxMissed, maxMissedRounds*before/max(1, len(found))),
	}
	for i := range known {
		each := &known[i]
		switch {
		case each.inLastAnswer:
		case p.Partial || slices.Contains(p.Former, each.address):
			each.inUse = each.inUse && each.absent < max(s.keepFor, hold)
		default:
			each.inUse = each.inUse && r.keeps(each)
		}
	}
	f.addresses = slices.DeleteFunc(known, func(each seenAddress) bool {
		return !each.inUse && each.missedAnswers > returnWindow
	})
	f.trim()
}

// inherit has the addresses of an earlier process count as a pool where its first complete answer may be a selection out of
// them: it has fewer addresses, some of them or out of many. It is unknown whether that process saw them return.
func (f *family) inherit(before, found int) {
	f.isInherited = false
	if found < before && (f.seedConfirmed || before >= poolSize) || f.seedConfirmed && found >= poolSize {
		for i := range f.returns {
			f.returns[i] = f.answers
		}
	}
}

// merge returns the addresses that were found and those that were known, sorted, and records whether any returned. since is
// the time since the answer before.
func (f *family) merge(found []dns.Address, hold, since time.Duration, now time.Time) []seenAddress {
	all := make([]seenAddress, 0, len(f.addresses)+len(found))
	hasReturned := false
	rest := f.addresses
	for _, address := range found {
		for len(rest) > 0 && rest[0].address.Compare(address) < 0 {
			all, rest = append(all, rest[0].missing(hold, since)), rest[1:]
		}
		if len(rest) > 0 && rest[0].address == address {
			f.seedConfirmed = f.seedConfirmed || rest[0].seeded
			hasReturned = hasReturned || !rest[0].inLastAnswer
			rest = rest[1:]
		}
		all = append(all, seenAddress{address: address, seen: now, hold: hold, inLastAnswer: true, inUse: true})
	}
	for _, each := range rest {
		all = append(all, each.missing(hold, since))
	}
	if hasReturned {
		copy(f.returns[1:], f.returns[:])
		f.returns[0] = f.answers
	}
	return all
}

// returned reports whether addresses have returned in so many of the last answers.
func (f *family) returned(times int) bool {
	return times == 0 || f.returns[times-1] > 0 && f.answers-f.returns[times-1] <= returnWindow
}

// retention is which of the addresses that an answer lacks stay.
type retention struct {
	// rotates and isPool say whether the answer counts as a rotation and a pool. An address of a pool may be missing in
	// mayMiss answers in a row.
	rotates, isPool bool
	mayMiss         int
	seedConfirmed   bool
}

func (r *retention) keeps(a *seenAddress) bool {
	return (r.rotates || a.seeded && r.seedConfirmed) && a.absent < a.hold ||
		r.isPool && a.missedAnswers <= r.mayMiss && a.absent < maxAbsence
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

// missing returns the sighting as one that the last answer did not have, since the answer before.
func (a seenAddress) missing(hold, since time.Duration) seenAddress {
	a.inLastAnswer = false
	a.missedAnswers++
	a.absent += since
	if a.seeded {
		a.hold = hold
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
		f.addresses, f.refused, f.surplus = nil, nil, 0
	}
}

// expire removes the addresses once their time is over.
func (f *family) expire(at, now time.Time) {
	if !at.IsZero() && !now.Before(at) {
		f.addresses, f.refused, f.surplus = nil, nil, 0
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
