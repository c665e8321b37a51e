// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package release makes all that a release has, but the chart and install.yaml, which test/chart makes: the
// image, archives of the program for each system, a manifest for krew, JSON Schemas of all kinds, the list of
// modules (SBOM), the notes and the checksums.
//
// The same commit makes the same bytes: every time is that of the commit, and programs know no path. It
// publishes nothing, signs nothing and downloads nothing but modules.
//
// Ring 3: it concerns who makes a release.
package release
