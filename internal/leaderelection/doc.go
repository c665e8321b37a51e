// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leaderelection elects the one replica that reconciles, by a Lease: one that is renewed, or one
// that belongs to the leader's Pod for as long as that exists.
//
// The Lease has the fields that client-go's leader election writes, so that kubectl and other electors can
// read it. The loop is our own, for what the one of client-go cannot give:
//
//   - A leader that cannot renew stops its work at the deadline, to the second. client-go with
//     ReleaseOnCancel first tries to release the Lease, for up to another renew deadline, and only then
//     cancels the work: with the usual durations that is 22 s after the last renewal, while others take
//     over after 15 s.
//   - The Lease is released once the work has ended, and renewed until then.
//   - A candidate watches the Lease, and acquires it the moment it is released or expires. Without the
//     permission to watch it polls.
//   - The clock is an argument, so that all of this is tested.
//
// The steps: elector.go runs campaign.go until this replica holds the Lease (lease.go; life.go decides for a
// Lease that belongs to a Pod), then hold.go while it leads. Candidates follow the Lease by watch.go. events.go
// announces leaders.
//
// # Guarantees
//
// At most one of all replicas passes Check at any instant, however long requests take, whatever is
// partitioned, stopped or asleep, and whatever the dates are. Clocks may run at rates that differ by less
// than LeaseDuration to RenewDeadline. The work of the former leader has ended before that of the next
// begins, or Run has returned ErrStillRunning; for that rates may differ by less than LeaseDuration to the
// middle between the two, and it does not hold for a process that did not run meanwhile, which finds out
// when it continues. Without faults a replica leads within LeaseDuration and a RetryPeriod, which is jittered
// by up to a fifth. A model in the tests checks that over thousands of random schedules.
//
// A replica that is stopped between Check and sending its request sends it late. What reconcilers write must
// be right then too, as server-side apply of computed state is. A user who deletes or edits the Lease of a
// leader decides instead of the election.
//
// The package never ends the process and never decides what leading means.
package leaderelection
