// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selfsigned is the operator's own certificate authority: one root, shared by all
// replicas through a Secret, and for each replica a short-lived serving certificate that exists
// in memory only.
//
// The Secret is the truth. Its tls.crt and tls.key are the root that signs, its ca.crt are all
// roots that clients must trust; the bundle is a pure function of it, so that every replica
// publishes the same bytes. It is created if absent and otherwise updated against the
// resourceVersion that was read; a replica that loses a race reads again. The Secret must not be mounted
// into pods: the key in it signs for everybody who trusts the bundle.
//
// One root follows another in phases (certs/internal/rotation) that the Secret remembers in an
// annotation, so that any replica carries a rotation on: the next root is published, seen where
// clients look, signs, and the former one is forgotten when what it signed has expired. A root
// that an administrator puts into the Secret, or that must be made at once, is held back by each
// replica that still has the former key, until clients were seen to trust it.
//
// The package never touches a Secret that does not carry the operator's managed-by label, never
// lets an unusable Secret empty the bundle, and never logs what a Secret holds.
//
// It needs create on secrets in its namespace, and get, update and watch on the one name.
package selfsigned
