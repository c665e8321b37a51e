// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certmanager runs cert-manager's own controllers and its CA injector in one process, for
// suites that want real issuing on a control plane without nodes. What cert-manager releases is
// three programs in images; the controllers in them are packages of its module, the programs are
// not. Its admission webhook cannot be had that way, so nothing checks or defaults what is applied
// but the schemas of the CRDs.
//
// It is a module of its own: cert-manager wants other versions of the Kubernetes libraries than the
// operator does. It listens on loopback unless configured otherwise, and takes part in no election.
package certmanager
