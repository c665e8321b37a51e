// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package election agrees on the one replica that reconciles, by a Lease.
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
// An election is no fence: a process that is stopped and resumed may send one more request after
// somebody else leads. What reconcilers write must be right then too, which server-side apply of
// computed state is.
//
// The package never ends the process and never decides what leading means.
package election
