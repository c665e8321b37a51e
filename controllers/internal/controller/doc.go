// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller has what the controllers of all kinds are made of: their construction, requests that
// no watch makes (Enqueuer, WatchIndex), the time of the next reconcile, the guard against a stale cache,
// and metrics of objects that come and go. It has no code for a kind, and writes nothing.
package controller
