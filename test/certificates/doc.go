// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificates has no code outside its tests. They run the operator on a real control plane
// with cert-manager's own controllers and CA injector: issuing from nothing and by a Certificate of
// another owner, renewal, re-issue under another authority while clients write and read, injection
// by cert-manager, and the messages where cert-manager is missing or cannot issue. They
// assert on what users see: requests that succeed, certificates that are presented, bundles in the
// cluster, the operator's log and exit. Where nothing can be built they fail and say why; none is
// skipped.
//
// A renewal is asked for as `cmctl renew` does, by the condition Issuing, or comes of a Certificate
// that lives for seconds: cert-manager's admission webhook, which would refuse that, is not there.
//
// Ring 2 for issuing, one rotation of each source and the moves between them: a certificate that the API server does not trust
// stops every write. What else cert-manager may do is in ring 3.
package certificates
