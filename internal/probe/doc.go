// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package probing says which addresses are healthy: it connects to each of them at its own pace, by
// TCP, HTTP, HTTPS or the standard gRPC health service, counts results in a row, and notifies when
// the health of an address changes.
//
// It never publishes anything, never resolves a name but through Options.Lookup, and never dials but
// through Options.Dial. It follows no redirect, uses no proxy and no kept connection, keeps no byte
// that the other side sent, and reports fixed words only. No probe outlives its timeout, and none
// leaves a goroutine or a connection behind.
//
// # Results
//
// The first result of an address that nothing is known of decides alone. After that it takes
// UnhealthyThreshold failures, or HealthyThreshold successes, in a row. An unexpected HTTP status is
// a failure like any other. A result that says something about this process only, such as too many
// open files, does not count. Whatever does not change what is checked keeps the count; a change of
// kind, port, TLS, path, statuses or host keeps the health, starts counting from zero, and is probed soon.
//
// A patient Prober lets UnhealthyThreshold failures in a row decide about an address that nothing is
// known of, too; and one that cannot be asked, since the egress policy refuses it or its name leads
// nowhere, is Unknown for that time, and what it was before afterwards.
//
// # Pace
//
// Addresses are probed every Interval, and every UnhealthyInterval while Unhealthy. A failure of a
// healthy address does not slow it down, so that a fault is known after UnhealthyThreshold times
// Interval; a success of an unhealthy one speeds it up to the shorter of both, so that a recovery
// is. To each wait up to JitterPercent is added at random. New addresses are probed right away as
// long as there are few of them, and else within Interval; so are those whose health is seeded.
//
// # Suspecting oneself
//
// Where much fails at once, the fault is probably here: a node that lost its network must not
// unpublish everything. This process is suspect from when more than half of all addresses that were
// healthy have failed once or twice, and at least three ExternalServices have no healthy address
// left that does not fail. It stays so until at most half of them fail, or fewer than three
// ExternalServices are without any. It is suspect too while SetNetworkDoubt says so. While it is
// suspect, failures decide nothing: what is healthy stays healthy, and what is unknown unknown.
// Refusals by the egress policy are not counted, and not held back, since they are certain. Once the
// suspicion ends, an address that goes on failing becomes Unhealthy with its next failure. A patient
// Prober counts addresses that only ever failed, too, since nothing tells it how they were before;
// and where Options.Group says that several objects are about the same thing, they count as one.
//
// Three ExternalServices, since one that loses all of its many addresses is no evidence against us,
// and since a small cluster must be able to fail over; and only such as have nothing left, since one
// that still reaches its other addresses shows that the network works: the loss of a data center
// that holds more than half of all addresses is failed over. The price: where a disaster outside
// takes most addresses of three or more ExternalServices without an alternative, their dead
// addresses stay published for as long as it lasts, and nothing else fails over meanwhile. That is
// the design's choice: publishing what is dead loses nothing that was not lost already.
package probe
