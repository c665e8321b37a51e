// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certs says where the webhook server's certificate comes from and whom its clients must
// trust. Its sources are the operator's own authority (certs/selfsigned), cert-manager
// (certs/certmanager) and a mounted folder (certs/folder); certs/injection carries the trust to the API
// server.
//
// Everything here runs before the manager and independent of it: with clients of its own, without
// a cache, an informer or an election, since the caches may need the webhook that needs the
// certificate (kubernetes-sigs/controller-runtime#2322). It never ends the process, never writes
// a private key anywhere but into the authority's Secret, and never hands out an empty bundle.
package certs
