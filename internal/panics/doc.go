// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package panics turns a panic below a goroutine into an error of that work. Without it one malformed DNS
// reply or certificate could end the process, and with it all webhooks of the replica. net/http,
// controller-runtime and client-go recover below the goroutines that they start themselves; this package
// is for all others. A test holds every go statement of the operator to it.
//
// It never restarts the work: what follows from the error is decided by the caller.
package panics
