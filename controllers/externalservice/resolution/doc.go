// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resolution keeps the addresses of the DNS names of all objects: it looks names up when they are due,
// keeps their addresses while lookups fail, and notifies when that changes. It looks up nothing that was not Set,
// writes nothing, and leaves it to the egress policy which addresses are allowed.
//
// tracker.go has the names and their queue, budget.go what a namespace may cause, lookup.go one lookup, namestate.go
// and family.go what its answer changes, without clock or network, and reachability.go whether the nameservers reply.
//
// # When a name is looked up
//
// After an answer with addresses, also where none may be published: when its TTL has passed, clamped to [MinTTL, MaxTTL]
// and never below 1s, plus up to a tenth of that within MaxTTL, so that names do not stay in step. After a failure: after
// 5s, or MinTTL where that is shorter, then after twice as long each time, up to 5m (MinTTL where that is longer, MaxTTL
// where that is shorter). A name that does not exist is not looked up again before its negative TTL, within that same limit.
// Where one family resolves and the other fails, the shorter of the two times holds, but not below MinTTL. When
// nameservers reply again after none did, names that timed out are looked up again at once. Where addresses would
// expire before the next lookup, it is when they would.
//
// New names are looked up at once, and many at 500 a second. Names with a Seed have a queue of their own, so that
// a start of the process does not delay new names. Equal lookups at the same time, or within a second, are one.
// A namespace may cause 1000 queries a second: where its names cause more, their next lookups are later.
//
// # What a failing nameserver does
//
// A lookup without a reply may mean that the name's own servers are slow. A Ping, which is about no name, tells
// whether the nameservers are unreachable. It is repeated every 5s until one replies.
//
// # What an answer does
//
// The families are apart. In each:
//
//   - A complete answer of fewer than 8 addresses replaces what was there, at once: when a record
//     moves from one address to another, no client is sent to the old one.
//   - In a rotation, an address stays for 2 TTLs after it was last seen, plus a margin so that two
//     lookups fit in. It goes with the next lookup after that.
//   - A rotation is an answer of 8 addresses or more, or a name whose addresses left and came back
//     in two of the last 20 answers. One such return may be a failover and its failback.
//   - A name that has one address at a time out of two is a rotation after returns in six lookups.
//     The name of a database flips while one server takes over from the other, and the one that
//     was left refuses writes.
//   - A rotation that goes on is a pool: some addresses of an answer of 8 or more came back in two
//     of the last 20 answers, or those of a smaller answer in four.
//   - In a pool, an address stays until 10 answers in a row lacked it, or 5 times as many as it
//     takes to see the pool once. It stays for at most an hour, or 2 TTLs if that is longer. The
//     pool thus settles as one set of addresses.
//   - Times and answers count only while the family resolves: an outage of DNS ends no pool.
//   - The addresses of a Seed are a pool where the first complete answer has fewer, if it has some of
//     them, or if they are 8 or more: it is unknown whether an earlier process saw them return. Where
//     it has as many, and some of them, the others stay as in a rotation. Otherwise they go at once: a
//     record has moved. Those of a Seed without a SeedTime stay until the name resolves.
//   - An answer that is marked as partial adds, and removes nothing that answers lack for less than
//     KeepLastFor.
//   - Addresses that may not be published count for nothing in all of this. An answer that has no
//     others is Denied, which is a failure: a DNS filter or a split horizon sends such answers. They
//     are in State.Addresses, so that they are used as soon as the egress policy allows them.
//   - "No such record" while the other family resolves removes the addresses when it was said
//     twice in a row; the second question comes after MinTTL. "No such name" while the other family
//     resolves is a failure where there were addresses.
//   - An SRV record that says that there is no such service (RFC 2782) is known, and no failure: it
//     removes the addresses when it was said twice in a row.
//   - Any other failure, and any failure of both families, keeps the addresses. With OnFailure
//     Remove they go KeepLastFor after the family was last resolved, with KeepLast never.
//
// At most 100 addresses of a name count, those that were seen last and, among these, the first in
// order; each family has a right to 50. State.Surplus counts those that do not.
package resolution
