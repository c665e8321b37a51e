// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image writes an image of one static program, without a container engine and without a
// registry: an OCI archive that `ctr images import`, `podman load` and `skopeo copy oci-archive:` take.
// Releases and the test on a real node use it, and Inspect reads what it wrote.
//
// What the image says of itself it has from the last stage of a Dockerfile, so that `docker build` makes
// the same image. That stage begins from scratch: there is no base to download.
//
// The package never runs a Dockerfile's steps, and never downloads anything.
//
// Ring 3: it concerns who makes a release.
package image
