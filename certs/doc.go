// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certs provides the webhook server's certificate and the CA bundle that clients trust. Its
// sources are the operator's own authority (certs/selfsigned), cert-manager (certs/certmanager) and a
// mounted folder (certs/folder). certs/trust keeps the authorities of all of them
// trusted while replicas serve by them. certs/injection writes the bundle into the objects that API servers
// read it from.
//
// The order at the start: Source.Prepare obtains a first certificate, the injector publishes the bundle,
// the webhook server serves, and Source.Run keeps certificate and bundle current.
//
// Sources run before the manager, with clients of their own and without a cache, an informer or an
// election, since the caches may need the webhook that needs the certificate
// (kubernetes-sigs/controller-runtime#2322). A source never ends the process, never writes a private key
// except into the authority's Secret, and never returns an empty bundle.
package certs
