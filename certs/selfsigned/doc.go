// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selfsigned is the operator's own certificate authority: one root, shared by all replicas through
// a Secret, and for each replica a short-lived serving certificate that exists in memory only.
//
// The Secret is the source of truth: tls.crt and tls.key are the root that signs, ca.crt are all roots that
// clients must trust. The bundle is a pure function of it, so that every replica publishes the same bytes.
// It is created if absent and otherwise updated against the resourceVersion that was read; a replica whose
// write conflicts reads again. The Secret must not be mounted into pods: its key signs for every client
// that trusts the bundle.
//
// The steps of one pass: synchronize.go reads the Secret, storedca.go parses it, rotation.go decides
// whether a transition is due (certs/internal/rotation) and computes the Secret after it, and authority.go
// publishes the bundle and signs with what certificates.go creates. bundlecheck.go observes whether clients
// have the bundle. The phase of a rotation is stored in an annotation, so that any replica continues it.
// An administrator may put a root into the Secret, or the operator may create one at once. A replica that still has the
// previous key uses such a root only after clients were observed to trust it. A replica that starts uses it once it is
// published. The bundle keeps what was published before: a disconnected replica may serve a root that is no longer in a Secret.
//
// The package never changes a Secret without the operator's managed-by label, never empties the bundle
// because of an unusable Secret, and never logs the content of a Secret.
//
// It needs create on secrets in its namespace, and get, update and watch on the one name.
package selfsigned
