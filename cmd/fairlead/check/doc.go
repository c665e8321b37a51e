// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check checks an installation of Fairlead in a cluster: CRDs, Deployments, certificates and CA
// bundles, webhooks, the Lease, and the rights of the operator's ServiceAccounts.
//
// check.go has the checks in their order. installation.go finds the objects: the CRDs have fixed names and name
// the Service of the webhooks and its namespace, and the arguments of the Deployments there name the rest, so
// that nothing is assumed of a namespace or a name prefix.
//
// It reads, creates by a dry run, and asks for reviews; nothing is stored. It never lists what users have
// stored, which is what package vet/cluster does.
package check
