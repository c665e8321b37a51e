// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guard runs a command only while this process holds a Lease.
//
// The Lease is campaigned for and renewed by package election. What is added here is the promise
// about another process, which no context can cancel:
//
//   - The command has ended before anybody else may take the Lease: it gets SIGTERM at the renew
//     deadline and SIGKILL a grace later, which New keeps short of the lease duration.
//   - Both times count on a clock that no step of the wall clock moves and that, where the system
//     has one, also runs while the machine sleeps.
//   - A second process, the watchman, kills the command where this one cannot, because it was
//     killed or stopped. It knows the deadline of the last renewal and hears of each new one, and
//     the command begins only when it is watched.
//   - The Lease is released when the command and all that it started have ended, and not before.
//
// The package never decides who holds the Lease, and starts nothing while that is unknown.
package elect
