// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shard gives an operator a part of the cluster's namespaces, which a label selector chooses and
// which may change while it runs. Its informers hold the objects of these namespaces alone, its reconcilers
// see no others, and no write to another namespace leaves the process.
//
// Two shards never work in one namespace: a shard claims a namespace by a Lease in the operator's own
// namespace, which it deletes once it has released the namespace. A claim belongs to the shard, whichever replica leads it,
// and does not expire: a shard that is down keeps its namespaces until it is back, or until a person deletes
// its claims.
package shard
