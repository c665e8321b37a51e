// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elect runs a command only while this process holds a Lease.
//
// Package leaderelection acquires and renews the Lease. This package adds what no context can do, to end
// another process in time:
//
//   - The command has ended before another process may take the Lease: it gets SIGTERM at the renew deadline
//     and SIGKILL a grace later, which New keeps below the lease duration (lease.go, term.go).
//   - Both times are on a clock that cannot be set and that, where the system has one, also runs while the
//     machine sleeps (system_linux.go).
//   - A second process, the watchdog, kills the command where this one cannot, because it was killed or
//     stopped. It gets the deadline with each renewal, and the command starts only when it is watched
//     (watchdog.go).
//   - The Lease is released when the command and everything that it started have ended, and not before
//     (process.go).
//
// The package never decides who holds the Lease, and starts nothing while that is unknown.
package elect
