// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// UnpublishFinalizer keeps an object until its slices are drained, or its Service is orphaned. The garbage collector
// does the rest.
const UnpublishFinalizer = "networking.fairlead.dev/unpublish"

// AppliedAnnotation is on the Services of ExternalServices. Its value names what was applied last.
const AppliedAnnotation = "networking.fairlead.dev/applied"

// Adopts reports whether es asks to take over a Service that an earlier ExternalService has left.
// Admission lets only those ask who may update that Service.
func Adopts(es *networkingv1.ExternalService) bool {
	return es.Annotations[networkingv1.AdoptServiceAnnotation] == "true"
}

// IsOrphan reports whether a Service was made for an ExternalService, and belongs to nothing now. It
// says nothing about who may have it.
func IsOrphan(service *corev1.Service) bool {
	return service.Labels[common.ManagedByLabel] == common.ManagedBy && service.Annotations[AppliedAnnotation] != "" &&
		metav1.GetControllerOf(service) == nil && service.DeletionTimestamp.IsZero()
}
