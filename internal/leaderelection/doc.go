// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leaderelection elects the one replica that reconciles, by a Lease. The leader renews the Lease, or the Lease
// belongs to the leader's Pod for as long as that exists.
//
// client-go's leader election acquires and renews the Lease. This package adds what client-go lacks:
//
//   - A lost Lease is known at the renew deadline, counted from the last renewal, or at once where another replica holds it.
//     client-go counts from the first renewal that fails.
//   - Check fences writes, by a clock that also runs while the process is stopped or the machine sleeps.
//   - The release shuts the fence. An Elector releases once the work has ended, and renews until then.
//   - What another writer removed from a Lease does not make it free.
//   - Candidates may read the Lease more often than the leader renews it.
//   - A Lease for life.
//
// lock.go is the Lease as client-go's elector uses it. That elector belongs to a Manager, or to elector.go, which runs
// one elector and the work of the leader. life.go decides about a Lease that belongs to a Pod, fence.go has Check, and
// events.go announces leaders.
//
// # Guarantees
//
// At most one replica passes Check at any time, however long requests take. This holds while replicas are partitioned,
// stopped or asleep, and for any dates of their clocks. The rates of the clocks may differ by less than LeaseDuration
// to RenewDeadline. The context of an Elector's work is canceled at the same time, but the work may go on: what it
// writes must pass Check. Without faults, a replica leads within 2.2 PollPeriods of a release, and within LeaseDuration
// and 4.4 PollPeriods of the last renewal.
//
// A replica that is stopped between Check and sending its request sends it late. Such a late write must still be
// correct, as server-side apply of computed state is. A user who deletes or edits the Lease of a leader overrides the
// election. A candidate that never saw the deleted Lease takes it, and the leader notices at its next renewal.
//
// The package never ends the process and never decides what the leader does.
package leaderelection
