// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package egress decides which addresses an ExternalService may have: whether they may be published, and whether the
// operator itself may connect to them.
//
// policy.go checks an address in this order: address.go denies what no configuration allows (loopback, link-local,
// multicast, reserved), then come the deny rules, then the ranges of the cluster and of metadata services (set.go),
// and the allow rules. ranges.go keeps the ranges of the cluster current with the informers of informers.go.
// dialer.go checks again, on the socket, the address that is connected to. static.go is about the addresses of a
// spec and their approval.
//
// It never resolves a name, never authenticates a user, and never writes anything.
package egress
