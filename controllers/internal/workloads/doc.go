// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workloads reads Deployments, StatefulSets and DaemonSets, and pods, as those see them who
// disrupt them: how many pods are wanted and available, and whether a rollout is complete. It changes
// nothing.
package workloads
