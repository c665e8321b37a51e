// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle starts the parts of the operator in the order of their phases, and stops them in the order of their
// stages. It knows nothing of Kubernetes, and decides nothing about what runs: cmd/fairlead/operator lists that.
//
// The start (lifecycle.go), in which a phase that fails is late and attempted again while the next ones begin: the API
// server responds, certificates, webhook server, CA bundle published, caches, election, reconcilers (leader.go). Webhooks
// never wait for a cache, and caches wait for webhooks that are served; the manager of controller-runtime starts both at
// once (kubernetes-sigs/controller-runtime#1685, #2322).
//
// The stop is the reverse (group.go): reconcilers, the Lease, the webhook server with its drain, caches, probes and
// metrics. A lost Lease stops the reconcilers at once and then goes the same way, so that webhooks are drained even then,
// where the manager of controller-runtime cuts them off.
package lifecycle
