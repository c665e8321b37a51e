// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package roundtrip keeps objects readable at both of their versions without a loss, when they are written:
// keep.go leaves in the stored object what the version of an update cannot express, and restorable.go
// refuses an object whose restore annotation would not fit.
//
// It converts nothing itself (webhooks/conversion/hubspoke does), and reads nothing but the request.
package roundtrip
