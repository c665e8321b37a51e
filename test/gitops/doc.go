// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitops tests what tools that apply and watch manifests make of Fairlead's objects, with the
// libraries that decide it: the three-way patch of kubectl and Helm, the diffs of Argo CD (the program
// of test/argocd), its health script and actions (config/argocd) in a Lua interpreter, and kstatus, by which Flux,
// Helm and kpt wait. The objects are those that a real API server stores, after the schemas' defaults,
// conversion and the webhooks.
//
// Ring 3: it plays the tools of others.
package gitops
