// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vet checks manifests of Fairlead's kinds without a cluster, with the very code that a
// cluster would run: the schema and CEL of the definitions, the defaults and rules of the webhooks,
// and the conversion to every served version and back.
//
// It sends nothing anywhere, reads no cluster, and changes no file; package cluster hands over what a
// cluster has stored. What only a cluster knows it does not judge: whether the writer has the rights, whether an address is the cluster's own, and
// whether the things exist that an object names.
package vet
