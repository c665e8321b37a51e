// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup restores what docs/guides/lifecycle.md says is backed up: objects that are created again without their UIDs,
// owners and status, as Velero does, and etcd as it was at an earlier moment. What is restored ends Ready, restarts nothing,
// kills nothing and takes no address away. It is what acts from then on.
//
// A world is a workload with an object of each kind that has acted on it, at a request that is still in its annotations.
//
// Ring 3: nothing but the API server's own restore can break it, and ring 2 has what it relies on.
package backup
