// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy is a wire that can be cut: a port of loopback whose connections lead to another one,
// as long as the proxy is open. It knows which calls were lost with the process at the other end, and
// when, so that no failure needs to be explained by a guess.
//
// It loses nothing by itself: where the far side ends a connection, the proxy passes that on and goes
// on listening to the client, as a network does that only carries packets. So it sees what a client
// sent before it could know.
//
// It forwards bytes, never looks into them, and never listens beyond loopback. All it knows of them
// is that they are TLS with HTTP/1.1 in it, where sides take turns: a client that has spoken once is
// still shaking hands.
package proxy
