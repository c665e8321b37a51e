// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package counters counts the outcomes of requests, and how long they took.
//
// It receives every request and leaves none out. It knows nothing of what was asked.
package counters
