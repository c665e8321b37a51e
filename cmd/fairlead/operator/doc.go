// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operator assembles the operator and owns the order in which it starts and stops. It reconciles,
// converts and decides nothing itself.
//
// The start (lifecycle.go), in which a phase that fails is late and attempted again while the next ones begin: the API
// server responds, certificates, webhook server, CA bundle published, caches, election, reconcilers (leading.go).
// Webhooks never wait for a cache, and caches wait for webhooks that are served; the manager of controller-runtime
// starts both at once (kubernetes-sigs/controller-runtime#1685, #2322).
//
// The stop is the reverse (groups.go): reconcilers, the Lease, the webhook server with its drain, caches,
// probes and metrics. A lost Lease stops the reconcilers at once and then goes the same way, so that webhooks
// are drained even then, where the manager of controller-runtime cuts them off.
//
// A replica may leave the webhooks or the reconcilers to others (roles.go). It skips their phases: without
// reconcilers it keeps a cache for the warnings of admission alone, without webhooks it has
// neither certificate nor port.
//
// lifecycle.go, groups.go and leading.go know nothing of Kubernetes. manager.go creates what they run:
//
//	webhooks.go, certificates.go      what is served, and the certificates for it
//	controllers.go, rebootpolicies.go, disruptions.go  the controllers, and what they share
//	caches.go, namespaces.go          their caches, and Events
//	claim.go                          which of several installations reconciles
//	clients.go, apiserver.go          how the API server is reached; writes pass only while this replica leads
//	egress.go                         the egress policy, its dialer and resolver
//	servers.go, logger.go, memory.go  probes, metrics, logs, the limit of memory
//	servedkinds.go, clockoffset.go    kinds whose CRD is missing, and a clock that is wrong
package operator
