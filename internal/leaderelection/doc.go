// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leaderelection elects the one replica that reconciles, by a Lease: one that is renewed, or one
// that belongs to the leader's Pod for as long as that exists.
//
// client-go's leader election acquires and renews the Lease. This package adds what that cannot give:
//
//   - The work ends at the renew deadline, counted from the last renewal. client-go counts from the first renewal that
//     fails.
//   - Check fences writes, by a clock that also runs while the process is stopped or the machine sleeps.
//   - The Lease is released once the work has ended, and renewed until then.
//   - What another writer removed from a Lease does not make it free.
//   - Candidates may read the Lease more often than the leader renews it.
//   - A Lease for life.
//
// elector.go runs client-go's elector and the work. lock.go is the Lease as client-go sees it, life.go decides for one
// that belongs to a Pod, fence.go is Check, events.go announces leaders.
//
// # Guarantees
//
// At most one of all replicas passes Check at any instant, however long requests take, whatever is
// partitioned, stopped or asleep, and whatever the dates are. Clocks may run at rates that differ by less
// than LeaseDuration to RenewDeadline. The work of the former leader has ended before that of the next
// begins, or Run has returned ErrStillRunning; for that rates may differ by less than LeaseDuration to the
// middle between the two, and it does not hold for a process that did not run meanwhile, which finds out
// when it continues. Without faults a replica leads within 2.2 PollPeriods of a release, and within
// LeaseDuration and 4.4 PollPeriods of the last renewal.
//
// A replica that is stopped between Check and sending its request sends it late. What reconcilers write must
// be right then too, as server-side apply of computed state is. A user who deletes or edits the Lease of a
// leader decides instead of the election: a candidate that never saw a Lease which was deleted takes it, until the leader
// notices at its next renewal.
//
// The package never ends the process and never decides what leading means.
package leaderelection
