// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager assembles the operator and owns the order in which it starts and stops.
//
// The start: the API server answers, certificates, webhook server, root published, caches, what
// needs no election, election, reconcilers. Webhooks never wait for a cache, and caches wait for
// webhooks that have answered: the manager of controller-runtime starts both and hopes
// (kubernetes-sigs/controller-runtime#1685, #2322).
//
// The stop is the same the other way round: reconcilers, the Lease, the webhook server with its
// drain, caches, probes and metrics. A lost Lease stops the reconcilers at once and then takes
// the same way, so that webhooks are drained even then; the manager of controller-runtime cuts
// them off. Or it ends only the term, which is caches and reconcilers, and the replica stands for
// election again with a new one.
//
// A replica may leave the webhooks or the reconcilers to others (roles.go). It then goes through the same
// order without those phases. One without reconcilers leads nothing, and keeps a cache for the warnings
// of admission alone; one without webhooks has neither certificate nor port.
//
// lifecycle.go and terms.go are this order and know nothing of Kubernetes; everything else in the
// package makes the parts that they run. Nothing here reconciles, converts or decides about an object.
package operator
