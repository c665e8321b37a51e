// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certmanager obtains the webhook's serving certificate from cert-manager. It creates the
// Certificate, and an authority for it where no issuer is named, or uses a Certificate that another user or
// tool has created. It serves what is in the Certificate's Secret, which it reads from the API server, so
// that nothing waits for a kubelet.
//
// The steps of one pass: synchronize.go ensures the objects of cert-manager (objects.go), reads the issued
// certificate (issued.go), and has certs/trust serve it once every target trusts its authority. All replicas
// share one certificate, and cert-manager replaces it and its authority at once.
//
// The package never changes an Issuer, a Certificate or a Secret that others have created, never writes
// into the Secret that cert-manager writes, and never logs the content of a Secret. An invalid certificate
// leaves the last valid one in use.
//
// It needs, in its namespace: get and watch on the Certificate's Secret; create on certificates and issuers,
// get and patch on its own, and get on issuers to explain why one is not ready.
package certmanager

// The operator's own authority and Certificate, and that of another user that has the name.
// +kubebuilder:rbac:groups=cert-manager.io,namespace=fairlead-system,resources=certificates,verbs=create
// +kubebuilder:rbac:groups=cert-manager.io,namespace=fairlead-system,resources=certificates,resourceNames=fairlead-webhook;fairlead-webhook-root,verbs=get;patch
// +kubebuilder:rbac:groups=cert-manager.io,namespace=fairlead-system,resources=issuers,resourceNames=fairlead-webhook;fairlead-webhook-bootstrap,verbs=patch
// To say what is wrong with the issuer, whichever was named.
// +kubebuilder:rbac:groups=cert-manager.io,namespace=fairlead-system,resources=issuers,verbs=get;create
// What cert-manager issues.
// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=secrets,resourceNames=fairlead-webhook-tls,verbs=get;watch
