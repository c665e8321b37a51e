// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

// The rights that RebootPolicies take. config/rbac/rebootpolicy_manager_role.yaml is generated from these markers.

// The operator reads the objects and updates their status.
//
// +kubebuilder:rbac:groups=autoreboot.fairlead.dev,resources=rebootpolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=autoreboot.fairlead.dev,resources=rebootpolicies/status,verbs=update

// On its CRD, by name: where the certificate authority is published, and which installation reconciles.
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=rebootpolicies.autoreboot.fairlead.dev,verbs=get;patch;watch

// Rights for a restart: two annotations on the pod template of a workload, spec.restartAt of a Rollout, or evictions. Admission
// warns where a disruption budget allows no eviction. A policy with serviceAccountName needs only the right to impersonate that
// ServiceAccount. It is not granted here: with it for every ServiceAccount of the cluster, the operator could do whatever any
// of them may. docs/guides/restarts.md grants it for one.
//
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch
// +kubebuilder:rbac:groups=argoproj.io,resources=rollouts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list

// What a RebootPolicy looks at: what is in a ConfigMap or Secret is read where a policy, or a pod template
// that it targets, names it. Secrets are not listed, and changes are found by reading again
// (rebootPolicies.sources: Poll); config/watch-secrets grants list and watch of Secrets as well. The key of their
// fingerprints is in the operator's own namespace.
//
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=secrets,resourceNames=fairlead-fingerprint-key,verbs=get

// Which versions pods have mounted of a SecretProviderClass, as the Secrets Store CSI driver writes them down. They are listed in
// namespaces where a policy or a pod template names a class.
//
// +kubebuilder:rbac:groups=secrets-store.csi.x-k8s.io,resources=secretproviderclasspodstatuses,verbs=list;watch

// Where the cluster is, so that no client is led there: the addresses of nodes, pods and the API server, and the ranges of
// Services.
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=list;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=get;list;watch
