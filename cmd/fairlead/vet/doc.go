// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vet checks manifests of Fairlead's kinds without a cluster, with the code that a cluster would run: the
// schema and CEL of the CRDs, the defaults and rules of the webhooks, and the conversion to v1.
//
// vet.go cuts files into documents, and checks them with several workers. document.go finds the objects of a
// document. For each, check.go runs the steps in the order of a cluster: stored.go, if a cluster stores the object,
// and metadata.go, then rules.go with the schema, the conversion and the webhook's rules. configuration.go checks
// configuration files of the operator. kind.go has what the steps need of each kind. message.go and
// suggestion.go word the findings, finding.go lists their ids, and collector.go numbers them and compares objects
// with each other.
//
// It sends nothing, reads no cluster, and changes no file; package cluster passes it the objects that a cluster has
// stored. It never checks what only a cluster can decide: the rights of the writer, whether an address is the cluster's
// own, and whether the objects exist that an object names.
package vet
