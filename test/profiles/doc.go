// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package profiles runs the operator as each way to install it does: with the objects that a kustomization
// renders, on a real control plane, under the ServiceAccounts and with exactly the rights that it grants, and with the
// arguments and the configuration file of its Deployments. An object of each kind goes through its life, and the
// API server's audit log tells that no request of the operator was forbidden, and what it asked for outside of the
// namespaces.
//
// Two things differ from what is rendered: the webhooks' Service is an ExternalName, as in config/local, and
// the replicas are processes on this host.
//
// Ring 3: each profile takes a control plane of its own.
package profiles
