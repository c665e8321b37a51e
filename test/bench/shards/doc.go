// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shards measures what three shards use beside one leader of all namespaces, and whether clients
// notice anything while namespaces move from shard to shard and each shard is killed: the shipped operator
// as processes of their own, a real API server, real controllers and a real scheduler, KWOK as the kubelets,
// and a listener on loopback that stands for every address outside.
//
// What is counted is read from the API server and by connections, not from the operator.
package shards
