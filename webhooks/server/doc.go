// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server is the TLS server of all webhooks. It is ready when it listens, holds a valid certificate, and has
// completed a handshake with itself against the CA that it publishes. When it stops, it drains: it becomes not ready
// and turns keep-alives off. It waits until the endpoints are gone, stops accepting connections, and completes the
// requests in flight.
//
// If authorities of clients are configured, it serves only callers that present a certificate of theirs. Anonymous
// paths are exempt.
//
// It has no code for a kind or a review, creates no certificate, and waits for no cache. Readiness that waited for a
// cache would keep the API server away from the conversions that the cache needs
// (kubernetes-sigs/controller-runtime#2322).
package server
