// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterrebootpolicy

// The objects themselves, whose status is the controller's, and the policies that are made of them.
//
// +kubebuilder:rbac:groups=autoreboot.fairlead.dev,resources=clusterrebootpolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=autoreboot.fairlead.dev,resources=clusterrebootpolicies/status,verbs=update
// +kubebuilder:rbac:groups=autoreboot.fairlead.dev,resources=rebootpolicies,verbs=get;list;watch;create;update;delete
//
// A policy loses its gate of type Approval with the template, whose writer had the right to approve in all namespaces.
//
// +kubebuilder:rbac:groups=autoreboot.fairlead.dev,resources=rebootpolicies,verbs=approve
//
// The namespaces that they are made in, and the workloads there.
//
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=list;watch
// +kubebuilder:rbac:groups=argoproj.io,resources=rollouts,verbs=list;watch
//
// The CRD, for its CA bundle.
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=clusterrebootpolicies.autoreboot.fairlead.dev,verbs=get;patch;watch
