// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhooks is the room of everything the API server calls: the TLS server (server), the
// admission handlers (admission) and the conversion handler (conversion).
//
// What stands below it is a thin layer over pure functions. It never reads a cluster, never waits
// for a cache and never imports controllers: a webhook that waits for a cache whose objects need
// that webhook's conversion never starts (kubernetes-sigs/controller-runtime#1685, #2322).
package webhooks
