// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalservice converts ExternalService between v1, the hub, and v1alpha1, a flat list
// of hosts. It has the two plain mappings (up.go, down.go) and the two overlays (overlay.go, hosts.go);
// hubspoke makes them lossless.
//
// What v1alpha1 cannot express, and an edit at v1alpha1 keeps: names, zones, states and ports of
// endpoints, which addresses belong together, priorities beyond plain order, protocols and target
// ports, TTLs that differ, everything of a health check beyond a core-like probe, failover,
// service and deletion policy. v1 expresses all of v1alpha1.
//
// It never refuses an object: admission validates the converted one.
package externalservice
