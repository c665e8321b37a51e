// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faultproxy is a proxy between clients and the API server, like a load balancer in front of a cluster. A test
// switches its faults on and off. It terminates TLS and HTTP/2 on both sides.
//
// A fault applies to requests by verb, resource and name (request.go). It delays or withholds the response, or replaces
// it. It holds back or drops the events of watches, or slows bodies down (fault.go, body.go). Connections can be
// silenced while new ones work (connection.go). Every request is counted.
//
// It serves one user of the API server and uses that user's certificate. It does not authenticate its clients, so it
// listens on loopback only.
//
// Ring 3: its tests are of a tool of the suites, which fail where it does.
package faultproxy
