// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaospod holds the rules of the kind ChaosPod at v1: its defaults, what is valid beyond its schema, and what
// is worth a warning. It also has what the status tells the controllers of other kinds.
//
// All functions are pure. They never read the cluster: callers check whether a target exists, and whether a user may
// kill its pods.
package chaospod
