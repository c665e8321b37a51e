// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalservice converts ExternalService between v1, the hub, and v1alpha1, a flat list
// of hosts. It holds the two plain mappings and the two overlays; hubspoke makes them lossless.
//
// What v1alpha1 cannot say, and an edit at v1alpha1 keeps: names, zones, states and ports of
// endpoints, which addresses belong together, priorities beyond plain order, protocols and target
// ports, TTLs that differ, everything of a health check beyond a core-like probe, failover,
// service and deletion policy. What v1 cannot say: a probe of a port that is none of the ports.
//
// Nothing here refuses anything: admission judges what conversion made.
package externalservice
