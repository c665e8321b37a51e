// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loopback stands in for what a node's network does for a Service: a Balancer spreads the
// connections to one port over those backends that are ready, as kube-proxy does with the
// EndpointSlices that kubelet's probes decide on.
//
// Together with a Service of type ExternalName for "localhost", whose port is the Balancer's, it
// puts several replicas of a webhook behind one real Service reference without any pod network.
//
// It forwards bytes and never looks into them, so TLS ends where it would: in the backend. It never
// listens beyond loopback unless told to, and retries nothing: a connection that kube-proxy would
// lose is lost here too.
package loopback
