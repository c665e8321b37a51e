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
	// maxAddresses is how many addresses of a name count.
	maxAddresses = 100
	// large is the size from which an answer is taken for a choice out of a pool.
	large = 8
	// memory is for how many TTLs an address that left is remembered, to notice that it returns.
	memory = 20
	// turns is how many lookups in a row an address may be missing from a name that is known to
	// rotate, and longest for how long at most where that is longer than in any rotation.
	turns   = 10
	longest = time.Hour
	// proof is in how many lookups addresses must have come back for a small answer to be one of a
	// pool, and not of a failover and its failback.
	proof = 4
	// misses is how often in a row a family must be said to have no records.
	misses = 2
)

// sighting is what is known of an address.
type sighting struct {
	address dns.Address
	seen    time.Time
	// until is how long the address stays in a rotation.
	until time.Time
	// absent is how many answers in a row lacked it.
	absent int
	// latest: it was in the last answer. shown: it counts; others are only remembered. seeded: no
	// answer had it yet.
	latest, shown, seeded bool
}

// family is what is known of the addresses of one family.
type family struct {
	// known are sorted by address.
	known []sighting
	// good is when the family last resolved, and last how its last lookup ended.
	good time.Time
	last dns.Outcome
	// missed is how often in a row there were no records while the other family resolved.
	missed int
	// confirmed: an answer had an address of the seed.
	confirmed bool
	// returned are the last lookups in which an address came back, the latest first.
	returned [proof]time.Time
	// surplus is how many addresses were found beyond those that may count.
	surplus int
}

// seed puts in what was known before this process.
func (f *family) seed(addresses []dns.Address, at time.Time) {
	f.good = at
	for _, address := range firstOf(addresses) {
		f.known = append(f.known, sighting{address: address, seen: at, latest: true, shown: true, seeded: true})
	}
}

// answered takes in addresses. interval is the time between lookups.
func (f *family) answered(p dns.FamilyAnswer, s settings, interval time.Duration, now time.Time) {
	f.good, f.missed = now, 0
	found := sorted(p.Addresses)
	f.surplus = max(0, len(found)-maxAddresses)
	hold, window := 2*interval+interval/4, memory*interval
	fresh := make([]sighting, 0, len(f.known)+len(p.Addresses))
	back := false
	rest := f.known
	for _, address := range found[:min(len(found), maxAddresses)] {
		for len(rest) > 0 && rest[0].address.Compare(address) < 0 {
			fresh, rest = append(fresh, rest[0].gone(hold)), rest[1:]
		}
		if len(rest) > 0 && rest[0].address == address {
			f.confirmed = f.confirmed || rest[0].seeded
			back = back || !rest[0].latest
			rest = rest[1:]
		}
		fresh = append(fresh, sighting{address: address, seen: now, until: now.Add(hold), latest: true, shown: true})
	}
	for _, each := range rest {
		fresh = append(fresh, each.gone(hold))
	}
	if back {
		copy(f.returned[1:], f.returned[:])
		f.returned[0] = now
	}
	cameBack := func(times int) bool {
		at := f.returned[times-1]
		return !at.IsZero() && now.Sub(at) <= window
	}
	isLarge := len(p.Addresses) >= large
	rotates := isLarge || cameBack(2)
	isPool := cameBack(proof) || isLarge && cameBack(2)
	for i := range fresh {
		each := &fresh[i]
		if each.latest {
			continue
		}
		inherited := each.seeded && f.confirmed
		held := (rotates || inherited) && now.Before(each.until) ||
			(isPool || isLarge && inherited) && each.absent <= turns && (each.seeded || now.Sub(each.seen) < longest)
		if p.Partial {
			held = now.Sub(each.seen) < max(s.keep, hold)
		}
		each.shown = each.shown && held
	}
	f.known = slices.DeleteFunc(fresh, func(each sighting) bool {
		return !each.shown && now.Sub(each.seen) > window
	})
	f.trim()
}

// gone returns the sighting as one that the last answer did not have.
func (s sighting) gone(hold time.Duration) sighting {
	s.latest = false
	s.absent++
	if s.seeded {
		s.until = s.seen.Add(hold)
	}
	return s
}

// trim keeps the addresses that were seen last, as many as may count and as many again that are
// only remembered.
func (f *family) trim() {
	if len(f.known) <= maxAddresses {
		return
	}
	slices.SortFunc(f.known, func(a, b sighting) int {
		return cmp.Or(b.seen.Compare(a.seen), a.address.Compare(b.address))
	})
	shown, remembered := 0, 0
	f.known = slices.DeleteFunc(f.known, func(each sighting) bool {
		if each.shown {
			if shown++; shown > maxAddresses {
				f.surplus = max(f.surplus, 1) // how many it is changes with each answer of a rotation
			}
			return shown > maxAddresses
		}
		remembered++
		return remembered > maxAddresses
	})
	slices.SortFunc(f.known, func(a, b sighting) int { return a.address.Compare(b.address) })
}

// absent takes in that there are no records, although the other family resolves.
func (f *family) absent() {
	if f.missed++; f.missed >= misses {
		f.known, f.surplus = nil, 0
	}
}

// expire forgets what has been kept for too long.
func (f *family) expire(at, now time.Time) {
	if !at.IsZero() && !now.Before(at) {
		f.known, f.surplus = nil, 0
	}
}

// keeps says whether addresses count that are not of the last answer only because it failed.
func (f *family) keeps() bool {
	return f.last != "" && f.last != dns.Resolved && f.size() > 0
}

func (f *family) size() int {
	n := 0
	for _, each := range f.known {
		if each.shown {
			n++
		}
	}
	return n
}

// latest returns the addresses that count, at most n of them, in order.
func (f *family) latest(n int) []dns.Address {
	var shown []sighting
	for _, each := range f.known {
		if each.shown {
			shown = append(shown, each)
		}
	}
	if len(shown) > n {
		slices.SortFunc(shown, func(a, b sighting) int {
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

// firstOf returns the addresses in order, each once, as many as may count.
func firstOf(addresses []dns.Address) []dns.Address {
	addresses = sorted(addresses)
	return addresses[:min(len(addresses), maxAddresses)]
}

func sorted(addresses []dns.Address) []dns.Address {
	addresses = slices.Clone(addresses)
	slices.SortFunc(addresses, dns.Address.Compare)
	return slices.Compact(addresses)
}
