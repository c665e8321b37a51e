// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resolution knows what every DNS name of every object leads to now. It looks names up
// when they are due, keeps what they led to while they fail, and says when that changes. It looks up
// nothing that was not Set, writes nothing anywhere, and judges no address.
//
// # When a name is looked up
//
// After a success: when its TTL has passed, clamped to [MinTTL, MaxTTL] and never below 1s, plus
// up to a tenth of that so that names drift apart, within MaxTTL. After a failure: after 5s, or
// MinTTL where that is shorter, then after twice as long each time, up to 5m (MinTTL where that is
// longer, MaxTTL where that is shorter). A name that does not exist is not asked for again before
// its negative TTL, within that same limit. Where one family resolves and the other fails, the
// shorter of the two times holds, but not below MinTTL. When the nameservers come back after none
// of them answered, names that timed out are looked up again at once. Where addresses would expire
// before the next lookup, it is when they would.
//
// A name that is new is looked up at once; where many come at once, 500 a second. Names that come
// with a Seed have a queue of their own, so that a start does not hold up what is new. Lookups of
// one name at the same time, or within a second, are one.
//
// # What a failing nameserver does
//
// A lookup that no nameserver answered may mean that the name's own servers are slow, so that a Ping, which
// has nothing to do with any name, decides whether the nameservers are gone. It is repeated every 5s
// until one answers.
//
// # What an answer does
//
// The families are apart. In each:
//
//   - A complete answer of fewer than 8 addresses replaces what was there, at once: when a record
//     moves from one address to another, no client is sent to the old one.
//   - In a rotation, an address stays for 2 TTLs after it was last seen, a little more so that
//     two lookups fit in, and goes with the next lookup after that. A rotation is an answer of 8
//     addresses or more, or a name of which addresses were seen to leave and come back in two
//     lookups within 20 TTLs; one such return may be a failover and its failback.
//   - A rotation that goes on is a pool: an answer of 8 addresses or more, some of which came back in
//     two lookups within 20 TTLs, or a smaller one with such a return in four. There an address stays
//     until 10 answers in a row lacked it, for an hour at most where 2 TTLs are not longer, so that
//     the pool settles as one set of addresses. What the pool has given up goes after that.
//   - The addresses of a Seed that the first answer lacks go at once where it has none of them, and
//     stay as in a rotation where it has some, and as in a pool where that is an answer of 8 or more:
//     it is unknown whether there was one. They count as seen at SeedTime.
//   - An answer that says of itself that it is partial adds, and removes nothing that was seen
//     within KeepLastFor.
//   - "No such record" while the other family resolves removes the addresses when it was said
//     twice in a row; the second question comes after MinTTL. "No such name" while the other family
//     resolves is a failure where there were addresses.
//   - Any other failure, and any failure of both families, keeps the addresses. With OnFailure
//     Remove they go KeepLastFor after the family was last resolved, with KeepLast never.
//
// At most 100 addresses of a name count, those that were seen last and, among these, the first in
// order; each family has a right to 50. State.Surplus says how many do not.
package resolution
