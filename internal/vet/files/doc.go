// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package files finds the manifests that a command line names: files, folders and the standard
// input.
//
// It never writes, never leaves what was named but through symbolic links, and never runs away: how
// many files there are, how large each is and how deep folders nest is bounded, and no folder is
// read twice.
package files
