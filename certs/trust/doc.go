// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trust keeps what is served trusted. A Holder serves a certificate that another component issues once every
// target trusts its authority, and keeps former authorities trusted until their certificates have expired.
//
// The trusted authorities of all replicas are in one Secret, fairlead-webhook-trust. Each replica adds the authority of
// what it is about to serve, and publishes all of them: replicas may have different certificates, or different sources
// of certificates, while a rolling update or a kubelet has not reached all of them. cert-manager's CA injector may read
// the bundle from there.
//
// An authority stays until the last known certificate of it has expired, at most eight in all. The package never takes
// away one that this replica serves by.
//
// It needs, in its namespace: create on secrets, and get, update and watch on the trust Secret.
package trust

// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=secrets,resourceNames=fairlead-webhook-trust,verbs=get;watch;update
