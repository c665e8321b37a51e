// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhooks is the room of everything the API server calls: the TLS server (server), the
// admission handlers (admission), who may write what (authorization) and the conversion handler
// (conversion).
//
// What stands below it is a thin layer over pure functions. Only authorization reads a cluster:
// live, within a time limit, and never an object of Fairlead. Nothing here waits for a cache or
// imports controllers: a webhook that waits for a cache whose objects need that webhook's conversion
// never starts (kubernetes-sigs/controller-runtime#1685, #2322).
package webhooks
