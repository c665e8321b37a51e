// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repo tests what is written in the repository: that links and make targets exist, that the pages of
// docs/reference list the fields, flags, metrics, conditions and events of the code and no others, that the API types
// keep the conventions of Kubernetes, and that comments and pages use the words of its documentation.
//
// It needs no control plane. The tests of the manifests are in config, and those of the commands in the guides in
// test/guides.
//
// Ring 3: what a page says breaks no cluster.
package repo
