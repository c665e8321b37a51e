// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package counters counts what became of requests, and how long they took.
//
// It is told of every request and leaves none out. It knows nothing of what was asked.
package counters
