// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaospod holds the rules of the kind ChaosPod at v1: its defaults, what makes an object
// valid beyond its schema and CEL, what is worth a warning, and what its status says to the controllers of other kinds.
//
// All functions are pure. They never read the cluster: whether a target exists, or whether the
// user may kill its pods, is asked elsewhere.
package chaospod
