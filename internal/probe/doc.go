// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package probe keeps the health of addresses: it connects to each at its interval, by TCP, HTTP, HTTPS or the
// standard gRPC health service, counts results in a row, and notifies when the health of an address changes.
//
// set.go has the targets, result.go what one probe changes, target.go how results decide. check.go is what is probed, and
// confidential.go what of it is secret. checker.go with tcp.go, http.go and grpc.go is one probe, and outcome.go its outcome.
// tally.go counts results. suspicion.go counts what fails at once, and suspect.go decides whether that is the fault of this
// process.
//
// It never publishes anything, never resolves a name except by Options.Lookup, and never dials except by
// Options.Dial. It follows no redirect, uses no proxy and no connection twice, keeps no byte that the server sent,
// and reports fixed reasons only. No probe outlives its timeout or leaves a goroutine or a connection.
//
// # Results
//
// The first result of an Unknown address decides alone. After that it takes FailureThreshold failures, or
// SuccessThreshold successes, in a row. An unexpected HTTP status is a failure. A result that is about this process
// only, such as too many open files, does not count. A target is its address, its port, its host where the check uses
// it, and what the check sends and trusts: one that differs in any of these is another one, Unknown and probed soon.
// Intervals, thresholds and names are no part of it, and keep the count. Neither is the content of a credential: with one
// that was rotated, a target is probed soon and keeps its health. The first failure in a row of a check with Secrets
// notifies, so that they are read again before it decides.
//
// With Options.RequireThreshold it takes FailureThreshold failures in a row for an Unknown address, too. One that
// cannot be probed, since the egress policy denies it or its name has no address, is Unknown for that time, and what
// it was before afterwards.
//
// # Tallies
//
// Prober.Count has every result of an object counted by itself (tally.go), for callers that judge a span of time and not a
// health. A failure counts once the reference has replied to a check that began after it, so that a process which loses its
// network does not blame the first failures on what it probes; while this process is suspect, failures are inconclusive.
//
// # Pace
//
// Addresses are probed every Interval, and every UnhealthyInterval while Unhealthy. A failure of a healthy address does
// not slow its probes, so that a fault is known after FailureThreshold times Interval; a success of an unhealthy one
// shortens its interval to the shorter of both. Where targets are in use (Target.InUse), and all of them are Unhealthy
// or the last result of another is a failure, Unhealthy targets of the object are probed at the shorter interval too.
// When this begins, they are probed as soon as that has passed since their last probe, which may be at once. Up to
// JitterPercent is added to each interval at random. New addresses are probed right away, a thousand a second of a
// namespace, and within Interval where that would be later; so are those with a Seed. Targets of an object that send
// the same to the same address and port are probed as one, and a namespace probes one address and port 50 times a
// second at most: where more would be due, their intervals grow.
//
// # Suspicion
//
// Where much fails at once, the fault is probably here: a node that lost its network must not unpublish everything.
// Destinations count, which are a host and port within a namespace, and each namespace has one vote. This process is
// suspect when more than half of all destinations that were healthy have failed once or twice, three objects have
// nothing left, three different hosts and ports fail, and more than half of the namespaces say so: at least three, or
// all where there are fewer. A namespace says so where more than half of its destinations fail and an object of its
// own has nothing left. When much begins to fail, a reference is asked that no tenant has a say in, the API server and
// the nameservers (Options.Reference): while that is out of reach, or SetNetworkUnreachable says so, this process is
// suspect without an end. Otherwise a suspicion ends after a time, and takes five times as long to be repeated.
//
// While it lasts, failures do not change the health of an object of which no address succeeds: a success shows that the
// network works. Denials by the egress policy are not part of a suspicion, and count at once, since they are certain.
// With Options.RequireThreshold, addresses that only ever failed are part of it, too, since nothing says how they were
// before; and with Options.Group, objects of the same group are one.
//
// The price: where a disaster takes all addresses of objects without an alternative, they stay published until the
// suspicion ends. Publishing what is down loses nothing that was not lost already
// (docs/decisions/health-and-failover.md).
package probe
