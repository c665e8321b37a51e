// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package egress decides which addresses an ExternalService may have: whether they may be published,
// and whether the operator itself may connect to them. It keeps the ranges of the cluster current,
// and checks again, at the moment of connecting, the very address that is connected to.
//
// It never resolves a name, never asks who a user is, and never writes anywhere. Loopback,
// link-local, multicast and reserved addresses stay closed whatever anybody configures.
package egress
