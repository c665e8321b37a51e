// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elect runs a command only while this process holds a Lease.
//
// Package leaderelection acquires and renews the Lease. This package adds what no context can do, to end another process in
// time. Two processes do that. Each also ends the command if the other one is stopped or killed:
//
//   - The guard starts the command, as its child. It gets the times by which the command must have ended with
//     each renewal, sends SIGTERM at the renew deadline and SIGKILL a grace later, and kills the command at once
//     where the process that renews the Lease dies (guard.go). New keeps the last of these below the lease
//     duration.
//   - The process that renews the Lease kills the guard after the same time, or once another one holds the Lease.
//     The kernel kills the command with its guard (runner.go).
//   - Both times are on a clock that cannot be set and that also runs while the machine sleeps. The Lease is
//     released when the command and everything that it started have ended, and not before (children.go).
//
// The package never decides who holds the Lease, and starts nothing while that is unknown. It needs the signal on
// the death of a parent and the adoption of orphans, which are Linux's: on other systems it is empty.
package elect
