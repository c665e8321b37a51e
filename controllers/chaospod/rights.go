// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

// The rights that ChaosPods take. config/rbac/chaospod_manager_role.yaml is generated from these markers. Canaries take the
// right to create pods as well, which config/rbac/canaries_manager_role.yaml has.

// The operator reads the objects and updates their status.
//
// +kubebuilder:rbac:groups=chaos.fairlead.dev,resources=chaospods,verbs=get;list;watch
// +kubebuilder:rbac:groups=chaos.fairlead.dev,resources=chaospods/status,verbs=update

// On its CRD, by name: where the certificate authority is published, and which installation reconciles.
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=chaospods.chaos.fairlead.dev,verbs=get;patch;watch

// What a ChaosPod kills, by evictions or deletions, and the workloads that it watches over. A ReplicaSet is read where it
// controls pods by itself, disruption budgets where the ChaosPod requires one, and nodes since pods of a cordoned one are
// left alone.
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=get;list;watch
// +kubebuilder:rbac:groups=argoproj.io,resources=rollouts,verbs=get
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list

// The Secret that one of verification.probes names in tls.caSecretName, by its name alone. Admission has asked whether the user
// who named it may get it.
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// Where the cluster is, so that no request of verification.probes is led there: the addresses of nodes, pods and the API server,
// and the ranges of Services.
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=list;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=get;list;watch
