// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package election agrees on the one replica that reconciles, by a Lease: one that is renewed, or one
// that belongs to the leader's Pod for as long as that lives.
//
// What stands in the Lease is what client-go's leader election writes, so that kubectl and other
// electors read it. The loop is our own, for what the one of client-go cannot give:
//
//   - A leader that cannot renew stops its work at the deadline, to the second. client-go with
//     ReleaseOnCancel first tries to release the Lease, for up to another renew deadline, and
//     only then cancels the work: with the usual durations that is 22 s after the last renewal,
//     while others take over after 15 s.
//   - The Lease is released when the work has really ended, and renewed until then.
//   - A standby watches the Lease, and takes it in the moment it is released or runs out. Without
//     the permission to watch it polls.
//   - The clock is an argument, so that all of this is tested.
//
// # What is promised
//
// Of all replicas at most one passes Check at any instant, however long requests take, whatever is
// partitioned, stopped or asleep, and whatever the dates are. Clocks may run at rates that differ by
// less than LeaseDuration to RenewDeadline. The work of another one has ended before anybody begins, or
// Run has answered ErrOutlived; for that rates may differ by less than LeaseDuration to the middle
// between the two, and it does not hold for a process that did not run meanwhile, which finds out when
// it goes on. With the faults gone a replica leads within LeaseDuration and a RetryPeriod, which is
// jittered by up to a fifth. A model in the tests plays thousands of schedules against that.
//
// Who passes Check and is stopped before it has sent its request sends it late. What reconcilers write
// must be right then too, which server-side apply of computed state is. And a user who deletes the Lease of
// a leader, or edits it, decides instead of the election.
//
// The package never ends the process and never decides what leading means.
package leaderelection
