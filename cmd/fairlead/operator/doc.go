// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operator assembles the operator. It reconciles, converts and decides nothing itself.
//
// run.go has the two halves, and the order in which they start and stop: what serves webhooks, and controller-runtime's Manager.
// assemble.go lists what runs in the first half and beside both, manager.go what the Manager runs, kinds.go has an entry for each
// kind, with all that is made for it. The others make what runs:
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
//	servers.go, process.go                     probes, metrics, logs, the limit of memory
//
// A replica may leave the webhooks or the reconcilers to others. It skips their phases: without reconcilers it keeps a
// cache for the warnings of admission alone, without webhooks it has neither certificate nor port.
package operator
