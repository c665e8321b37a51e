// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalnet is what lies outside the cluster, as real servers on loopback: a DNS server, and
// TCP, HTTP, HTTPS and gRPC servers at addresses that the tests may name, each with faults that are
// switched while it runs. The suites, the demo and the benchmark play against it.
//
// Objects name addresses of documentation and benchmarking, such as 192.0.2.10. A server at such an
// address listens on the loopback address that Local maps it to, and Dial connects there, so that
// nothing ever leaves the machine. All of 127/8 is local on Linux only. Ports stay as they are;
// those below 1024 need the right to bind them.
//
// It knows nothing of the operator, and it never sleeps where it can wait for an event.
//
// Ring 3: its tests are of a tool of the suites, which fail where it does.
package externalnet
