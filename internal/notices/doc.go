// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notices puts Events on objects on behalf of code that may not wait: webhooks, and decoders of
// what an informer reads. Of one matter on one object, all replicas together write one Event within a
// window of time: its name follows from both, so that the API server refuses the second.
//
// The package never blocks who gives it a notice, never holds more than a bound of them, and never tries
// an Event twice: what is lost is in the log and the metrics all the same.
package notices
