// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clientprobe sends the requests of verification.probes while workloads are disrupted, and counts them (sender.go). What
// the counts prove is in package requestcount.
//
// network.go has how it dials and looks up: by the egress policy, as a client without any approval.
package clientprobe
