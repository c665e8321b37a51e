// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

// The rights that ExternalServices take. config/rbac/externalservice_manager_role.yaml is generated from these markers.

// Of an ExternalService the operator writes the status and the finalizers; the latter takes patch on the object itself.
// Update of its finalizers is what the API server demands of the maker of a Service that blocks its owner's deletion.
//
// +kubebuilder:rbac:groups=networking.fairlead.dev,resources=externalservices,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=networking.fairlead.dev,resources=externalservices/status,verbs=patch
// +kubebuilder:rbac:groups=networking.fairlead.dev,resources=externalservices/finalizers,verbs=update

// On its CRD, by name: where the certificate authority is published, and which installation reconciles.
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=externalservices.networking.fairlead.dev,verbs=get;patch;watch

// What an ExternalService becomes. Server-side apply is patch, and create where there is nothing yet.
//
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch;create;patch;delete

// The NetworkPolicies of ExternalServices that have one. Admission reads those of others, for its warnings.
//
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete

// What Kubernetes makes of a selector that stood on the Service of an ExternalService is removed with the selector.
//
// +kubebuilder:rbac:groups="",resources=endpoints,verbs=get;delete

// The Secrets that a health check names in tls and in sendFrom of its steps, by their names alone. Admission has asked whether the user who
// named one may get it. To narrow this, take the rule out of the ClusterRole and grant it by a Role, with resourceNames where
// they are known, in the namespaces that need it; elsewhere such a check fails, and nothing else does.
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// Where the cluster is, so that no client is led there: the addresses of nodes, pods and the API server, and the ranges of
// Services.
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=list;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=get;list;watch
