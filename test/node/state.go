// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

const (
	// state takes all that the node writes: memory, so that it is gone with the namespaces, and
	// short, since a socket's path is at most 107 characters long.
	state     = "/run/node"
	temporary = state + "/tmp"
)

// groupVariable tells the inside which control group is its own.
const groupVariable = "FAIRLEAD_NODE_GROUP"
