// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authorization asks, at admission, whether who writes an object has the right to what the
// operator would do for it: publish addresses of the cluster, read a Secret, take the name of a
// Service, restart workloads, act as a ServiceAccount. The operator may do more than most users, and
// must not lend them its rights. Who had them is written on the object.
//
// It orchestrates only. What an address is, internal/egress says; what an approval covers, it and
// internal/approval say; what a user may do, the API server. It writes nothing anywhere, so a dry run
// is answered as any other request, and where something cannot be answered it refuses and says what
// to do. It is the one package below webhooks that reads a cluster: always live, within a time limit,
// and never an object of Fairlead.
package authorization
