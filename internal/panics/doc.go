// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package panics turns a panic in a goroutine into an error. Without it one malformed DNS response or
// certificate could end the process, and with it all webhooks of the replica. net/http, controller-runtime
// and client-go recover in the goroutines that they start; this package is for all others. A test enforces
// that for every go statement of the operator.
//
// It never restarts the work: the caller decides what follows from the error.
package panics
