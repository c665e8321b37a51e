// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers holds one package for each kind that is reconciled. It also declares, in the markers below, the
// rights that the operator asks of a cluster whatever its kinds are: config/rbac/role.yaml is generated from them. Those
// that a kind takes are in rights.go of its package. Nothing here starts before this replica leads, and nothing here
// imports webhooks.
//
// A rule with a resource name cannot carry create, since the name of an object that does not
// exist yet is not known to the authorizer; create is therefore in a rule of its own. A right that is
// new here must also be given to one of the two accounts of config/split, and to the Role of config/namespaced/rights; tests of
// the manifests say so.
package controllers

// Events on users' objects, and about who leads.
//
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Who may read the metrics is asked of the API server, and whether a writer may do what an object does.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Where the certificate authority is published, beside the CRDs of the kinds: these objects by name, and no others. Each
// is watched, by its name, so that a bundle that was lost is put back within seconds.
//
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=fairlead-externalservice;fairlead-rebootpolicy;fairlead-clusterrebootpolicy;fairlead-chaospod,verbs=get;patch;watch

// In the operator's own namespace: the blackouts of the whole cluster, the lease of the leader, and the
// authority that the replicas share.
//
// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=configmaps,resourceNames=fairlead-calendar,verbs=get;list;watch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=fairlead-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=fairlead-system,resources=leases,resourceNames=fairlead-manager,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=secrets,resourceNames=fairlead-webhook-ca,verbs=get;watch;update
