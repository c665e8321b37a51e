// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apitransport is the HTTP transport of clients that reach the API server through proxies, load balancers and
// networks which fail without closing a connection.
//
//   - Where a request waits too long for its response, later requests are sent over a new connection (transport.go).
//     The request itself goes on waiting: an API server that is slow is not asked twice.
//   - A watch that nothing arrives on for longer than the API server is ever silent is ended, so that its client
//     starts it again (watch.go). The API server sends a bookmark each minute to a client that asks for them.
//   - A 404 that is not the API server's is an error (internal/apistatus).
//   - An eviction that is refused is not sent again by client-go: its caller decides when.
//
// The package never retries a request, and never changes one.
package apitransport
