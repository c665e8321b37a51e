// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leaderelection elects the one replica that reconciles, by a Lease: one that is renewed, or one
// that belongs to the leader's Pod for as long as that exists.
//
// client-go's leader election acquires and renews the Lease. This package adds what that cannot give:
//
//   - A lost Lease is known at the renew deadline, counted from the last renewal, or at once where another replica holds it.
//     client-go counts from the first renewal that fails.
//   - Check fences writes, by a clock that also runs while the process is stopped or the machine sleeps.
//   - The release shuts the fence. An Elector releases once the work has ended, and renews until then.
//   - What another writer removed from a Lease does not make it free.
//   - Candidates may read the Lease more often than the leader renews it.
//   - A Lease for life.
//
// lock.go is the Lease as client-go sees it, for the elector of a Manager or for elector.go, which runs one and the work.
// life.go decides for a Lease that belongs to a Pod, fence.go is Check, events.go announces leaders.
//
// # Guarantees
//
// At most one of all replicas passes Check at any instant, however long requests take, whatever is
// partitioned, stopped or asleep, and whatever the dates are. Clocks may run at rates that differ by less
// than LeaseDuration to RenewDeadline. The work of an Elector is told to end at the same time, but may go on: what it writes
// must pass Check. Without faults a replica leads within 2.2 PollPeriods of a release, and within
// LeaseDuration and 4.4 PollPeriods of the last renewal.
//
// A replica that is stopped between Check and sending its request sends it late. What reconcilers write must
// be right then too, as server-side apply of computed state is. A user who deletes or edits the Lease of a
// leader decides instead of the election: a candidate that never saw a Lease which was deleted takes it, until the leader
// notices at its next renewal.
//
// The package never ends the process and never decides what leading means.
package leaderelection
