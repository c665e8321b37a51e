// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faultproxy is a proxy between clients and the API server, as a load balancer or a proxy in front of a
// cluster is, whose faults a test switches on and off. It ends TLS and HTTP/2 on both sides.
//
// A fault strikes requests by what they ask for: verb, resource and name (request.go). It delays the answer,
// holds it back, or gives another one; it mutes watches, also those that are open, loses their events, or slows
// bodies (fault.go). Connections can be silenced while new ones work (connection.go). Every request is counted.
//
// It serves one user of the API server, and speaks to it by that user's certificate. It asks no client who they
// are, and never listens beyond loopback.
//
// Ring 3: its tests are of a tool of the suites, which fail where it does.
package faultproxy
