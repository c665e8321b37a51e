// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package link is a wire that can be cut: a port of loopback whose connections lead to another one,
// as long as the link is open. It knows which connections wait for an answer, so that it can be told
// what was lost with whoever was at the other end.
//
// It forwards bytes, never looks into them, and never listens beyond loopback.
package link
