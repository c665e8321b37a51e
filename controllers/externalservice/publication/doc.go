// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publication has what an ExternalService is in the cluster, as values: the Service that is wanted, and the
// EndpointSlices that published addresses need.
//
// service.go has the Service, and what others have changed in it. ports.go has the order in which ports get other names, and
// addresses under the names that a Service has. packing.go packs addresses into slices and moves as few as
// it can; slice.go has a slice as it is applied, and what is left of one that has addresses which must not take traffic.
// networkpolicy.go has the NetworkPolicy that lets pods connect to these addresses.
//
// It reads and writes nothing, and decides about no address.
package publication
