// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhooks holds what the API server calls: the TLS server (server), the admission webhooks
// (admission, with a package for each kind) and the conversion webhook (conversion).
//
// To follow a request from the socket to the decision, read the list of files in admission/doc.go or conversion/doc.go.
// In cmd/fairlead/operator, kinds.go has the handlers of each kind, and webhooks.go registers them.
//
// Defaults, rules and conversions are pure functions. Only what admission asks about a writer is read from a
// cluster: live and within a time limit, or, for warnings alone, from caches that have synced already.
// Nothing here waits for a cache or imports controllers: a webhook that waits for a cache whose objects need
// that webhook's conversion never starts (kubernetes-sigs/controller-runtime#1685, #2322).
package webhooks
