// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// UnpublishFinalizer keeps an object until its slices are drained and its Service is deleted, or orphaned.
const UnpublishFinalizer = "networking.fairlead.dev/unpublish"

const (
	// AppliedAnnotation is on the Services of ExternalServices. Its value names what was applied last.
	AppliedAnnotation = "networking.fairlead.dev/applied"
	// OwnerAnnotation is the UID of the ExternalService that a Service belongs to. The Service has no owner reference:
	// the garbage collector deletes what has one without regard to finalizers of the owner, so that a foreground
	// deletion would delete a Service that is to be orphaned, or drained first.
	OwnerAnnotation = "networking.fairlead.dev/owner-uid"
	// SelectorRemovedAnnotation is on a Service that had a selector which was removed, since when, until what Kubernetes
	// made of it is gone.
	SelectorRemovedAnnotation = "networking.fairlead.dev/selector-removed"
)

// BelongsTo reports whether a Service is that of es. Earlier versions set an owner reference.
func BelongsTo(service *corev1.Service, es *networkingv1.ExternalService) bool {
	if owner := metav1.GetControllerOf(service); owner != nil {
		return owner.UID == es.UID
	}
	return service.Annotations[OwnerAnnotation] == string(es.UID)
}

// IsAbandoned reports whether a Service was made for an ExternalService of its name that did not orphan it, and is not es:
// there is one object of a name, so that the other does not exist any more. Both were restored from a backup, or the
// finalizer of the earlier object was removed by force.
func IsAbandoned(service *corev1.Service, es *networkingv1.ExternalService) bool {
	return IsOrphan(service) && service.Annotations[OwnerAnnotation] != "" && service.Name == es.Name && !BelongsTo(service, es)
}

// Adopts reports whether es requests to take over a Service that an earlier ExternalService has left.
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
