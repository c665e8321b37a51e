// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operator assembles the operator. It reconciles, converts and decides nothing itself.
//
// run.go has the two halves of a process, and the order in which they start and stop. One half serves webhooks, the
// other is the Manager of controller-runtime. assemble.go lists the components of the first half and those beside both;
// manager.go lists those of the Manager. kinds.go has an entry for each kind, with all that is created for it. The
// other files create the components:
//
//	webhooks.go, certificates.go               what is served, and the certificates for it
//	controllers.go, rebootpolicies.go          the controllers
//	disruptions.go, claim.go                   what controllers share, and which of several installations reconciles
//	caches.go, discovery.go                    their caches and Events, and kinds whose CRD is missing
//	connection.go, clockoffset.go              how the API server is reached, writes that pass only while this replica leads,
//	                                           and a clock that is wrong
//	egress.go                                  the egress policy, its dialer and resolver
//	identity.go                                what this replica is called, where it runs and has rights
//	startup.go, group.go                       the record of the start, which is /statusz, and what stops together
//	servers.go, process.go, loglevel.go        probes, metrics, logs, the limit of memory
//	tracing.go, leadershiplog.go               spans of requests, and a log of who led when
//
// A replica may run only one half, and skips the phases of the other. Without reconcilers, it keeps only a cache for
// the warnings of admission. Without webhooks, it has neither a certificate nor a port for them.
package operator
