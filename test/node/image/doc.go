// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image writes an image of one static program, without a container engine and without a
// registry: an OCI archive that `ctr images import`, `docker load` and `podman load` take.
//
// What the image says of itself it has from the last stage of a Dockerfile, so that what is tested is
// what the Dockerfile ships. The base that the Dockerfile names is stood in for by the few files of a
// distroless base that a static program can miss: an unprivileged account, and /tmp.
//
// The package never runs a Dockerfile's steps, and never downloads anything.
package image
