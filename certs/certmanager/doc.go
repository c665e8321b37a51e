// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certmanager has cert-manager issue the webhook's serving certificate. It makes the
// Certificate, and an authority for it where no issuer is named, or uses a Certificate that
// another user or tool has made; it serves what is in the Certificate's Secret, which it reads from
// the API server, so that nothing waits for a kubelet.
//
// All replicas share the one certificate, and cert-manager replaces it and its authority at one
// instant. So that no handshake fails then, an authority that is new is first trusted beside the
// former ones, and its certificate is served only once every target was seen to trust it; a former
// authority stays trusted until the last certificate under it has expired. Who is trusted stands in
// a Secret of the operator's own, fairlead-webhook-trust, so that every replica publishes the same
// bytes, also after a restart. cert-manager's CA injector may take the bundle from there.
//
// The package never changes an Issuer, a Certificate or a Secret that others have made, never
// writes into the Secret that cert-manager fills, and never logs what a Secret holds. A certificate
// that cannot be used leaves the last good one in use.
//
// It needs, in its namespace: create on secrets, and get, update and watch on the trust; get and
// watch on the Certificate's Secret; create on certificates and issuers, get and patch on its own, and
// get on issuers to tell what is wrong with one.
package certmanager

// The operator's own authority and Certificate, and that of another user that has the name.
// +kubebuilder:rbac:groups=cert-manager.io,namespace=fairlead-system,resources=certificates,verbs=create
// +kubebuilder:rbac:groups=cert-manager.io,namespace=fairlead-system,resources=certificates,resourceNames=fairlead-webhook;fairlead-webhook-root,verbs=get;patch
// +kubebuilder:rbac:groups=cert-manager.io,namespace=fairlead-system,resources=issuers,resourceNames=fairlead-webhook;fairlead-webhook-bootstrap,verbs=patch
// To say what is wrong with the issuer, whichever was named.
// +kubebuilder:rbac:groups=cert-manager.io,namespace=fairlead-system,resources=issuers,verbs=get;create
// What cert-manager issues, and who is trusted for it.
// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=secrets,resourceNames=fairlead-webhook-tls,verbs=get;watch
// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=secrets,resourceNames=fairlead-webhook-trust,verbs=get;watch;update
