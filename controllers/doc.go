// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers holds one package for each kind that is reconciled. It also declares, in
// the markers below, every permission that the operator asks of a cluster: config/rbac/role.yaml
// is generated from them. Nothing here starts before this replica leads, and nothing here imports
// webhooks.
//
// A rule with a resource name cannot carry create, since the name of an object that does not
// exist yet is not known to the authorizer; create is therefore in a rule of its own. A right that is
// new here must also be given to one of the two accounts of config/split, and to the Role of config/namespaced/rights; tests of
// the manifests say so.
package controllers

// The kinds. Of an ExternalService the operator writes the status and the finalizers; the latter takes
// patch on the object itself, and so does the storage migration of every kind, which changes nothing
// but managedFields. Update of its finalizers is what the API server demands of the maker of a Service
// that blocks its owner's deletion.
//
// +kubebuilder:rbac:groups=networking.fairlead.dev,resources=externalservices,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=networking.fairlead.dev,resources=externalservices/status,verbs=patch
// +kubebuilder:rbac:groups=networking.fairlead.dev,resources=externalservices/finalizers,verbs=update
// +kubebuilder:rbac:groups=autoreboot.fairlead.dev,resources=rebootpolicies,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=autoreboot.fairlead.dev,resources=rebootpolicies/status,verbs=update;patch
// +kubebuilder:rbac:groups=chaos.fairlead.dev,resources=chaospods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=chaos.fairlead.dev,resources=chaospods/status,verbs=update;patch

// What an ExternalService becomes. Server-side apply is patch, and create where there is nothing yet.
//
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch;create;patch;delete

// What Kubernetes makes of a selector that stood on the Service of an ExternalService is removed with the selector.
//
// +kubebuilder:rbac:groups="",resources=endpoints,verbs=get;delete

// What a RebootPolicy restarts: two annotations on the pod template of a workload, or evictions. A policy
// with serviceAccountName needs neither, but the right to impersonate that ServiceAccount, which is not
// here: with it for every ServiceAccount of the cluster the operator could do whatever any of them may.
// docs/guides/restarts.md grants it for one.
//
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create

// What a ChaosPod kills, beside evictions: deletions, and canaries that are made from its template and
// deleted. The name of the pod is the user's, so none can be named here. A ReplicaSet is read where it
// controls pods by itself, and disruption budgets where the ChaosPod requires one.
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=create;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=get
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list

// Whether the ServiceAccount exists that a RebootPolicy or ChaosPod acts as.
//
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get

// What a RebootPolicy looks at: what is in a ConfigMap or Secret is read where a policy, or a pod template
// that it targets, names it. Secrets are not listed, and changes are found by reading again
// (rebootPolicies.sources: Poll); config/watch-secrets grants list and watch of Secrets as well.
//
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// Where the cluster is, so that no client is led there: what nodes and Services have for addresses.
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=get;list;watch

// The Secret that a health check names in tls.caSecretName is read by the same right, by its name alone.
// Admission has asked whether the user who named it may get it. To narrow this, take the rule out of the
// ClusterRole and grant it by a Role, with resourceNames where they are known, in the namespaces that need
// it; elsewhere such a check and such a trigger fail, and nothing else does.

// Events on users' objects, and about who leads.
//
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Who may read the metrics is asked of the API server.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Where the certificate authority is published: these objects by name, and no others. Each is watched, by
// its name, so that a bundle that was lost is put back within seconds.
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=externalservices.networking.fairlead.dev;rebootpolicies.autoreboot.fairlead.dev;chaospods.chaos.fairlead.dev,verbs=get;patch;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=fairlead-mutating,verbs=get;patch;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=fairlead-validating,verbs=get;patch;watch

// What the storage migration notes on the same definitions (an annotation, by the rule above), what it
// takes out of their status, and whether the API server migrates by itself.
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions/status,resourceNames=externalservices.networking.fairlead.dev;rebootpolicies.autoreboot.fairlead.dev;chaospods.chaos.fairlead.dev,verbs=patch

// In the operator's own namespace: the blackouts of the whole cluster, the lease of the leader, and the
// authority and the key of fingerprints that the replicas share.
//
// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=configmaps,resourceNames=fairlead-calendar,verbs=get;list;watch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=fairlead-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=fairlead-system,resources=leases,resourceNames=fairlead-manager,verbs=get;watch;update
// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=secrets,resourceNames=fairlead-webhook-ca,verbs=get;watch;update
// +kubebuilder:rbac:groups="",namespace=fairlead-system,resources=secrets,resourceNames=fairlead-fingerprint-key,verbs=get
