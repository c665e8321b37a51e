// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// GroupVersion is the group and version of the types of this package.
	GroupVersion = schema.GroupVersion{Group: "autoreboot.fairlead.dev", Version: "v1"}

	// SchemeGroupVersion is GroupVersion under the name that generated code uses.
	SchemeGroupVersion = GroupVersion

	// SchemeBuilder collects what AddToScheme registers.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the types of this package.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &RebootPolicy{}, &RebootPolicyList{}, &ClusterRebootPolicy{}, &ClusterRebootPolicyList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
