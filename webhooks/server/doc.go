// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server is the TLS server under all webhooks. It is ready only when it listens, holds a valid certificate and has completed
// a handshake with itself against the CA it publishes; on stop it drains: not ready, keep-alives
// off, wait for the endpoints to go, stop accepting, finish what is in flight.
//
// With authorities of clients it answers only callers that present a certificate of theirs, except on
// the paths that are configured as anonymous.
//
// It has no code for a kind or a review, makes no certificate, and waits for no cache: readiness that
// waited for one would keep the API server away from the conversions that the cache needs
// (kubernetes-sigs/controller-runtime#2322).
package server
