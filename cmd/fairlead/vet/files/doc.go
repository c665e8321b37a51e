// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package files finds the manifests that a command line names: files, folders and the standard
// input.
//
// Patches of a kustomization and templates of a chart are no manifests of their own, and are skipped.
//
// It never writes, and leaves what was named through symbolic links, and for the kustomizations of the
// folders above, alone. How many files there are, how large each is and how deep folders nest is
// bounded, and no folder is read twice.
package files
