// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// UnpublishFinalizer keeps a deleted object until its slices are drained and its Service is deleted or orphaned.
const UnpublishFinalizer = "networking.fairlead.dev/unpublish"

const (
	// AppliedAnnotation is on the Services of ExternalServices. Its value identifies what was last applied.
	AppliedAnnotation = "networking.fairlead.dev/applied"
	// OwnerAnnotation is the UID of the ExternalService that a Service belongs to. The Service has no owner reference:
	// the garbage collector ignores the finalizers of an owner. A foreground deletion would then delete a Service that is
	// to be orphaned, or drained first.
	OwnerAnnotation = "networking.fairlead.dev/owner-uid"
	// SelectorRemovedAnnotation is on a Service whose selector was removed. Its value is when. It stays until the
	// Endpoints and EndpointSlices that Kubernetes made by the selector are gone.
	SelectorRemovedAnnotation = "networking.fairlead.dev/selector-removed"
)

// NetworkPolicyName returns the name of the NetworkPolicy of an ExternalService.
func NetworkPolicyName(name string) string { return name + "-egress" }

// BelongsTo reports whether a Service belongs to es. Earlier versions set an owner reference instead of the annotation.
func BelongsTo(service *corev1.Service, es *networkingv1.ExternalService) bool {
	if owner := metav1.GetControllerOf(service); owner != nil {
		return owner.UID == es.UID
	}
	return service.Annotations[OwnerAnnotation] == string(es.UID)
}

// IsAbandoned reports whether a Service was made for another ExternalService of its name, which did not orphan it. That
// object no longer exists, since its name is that of es. Either both were restored from a backup, or a user removed the
// finalizer of the earlier object.
func IsAbandoned(service *corev1.Service, es *networkingv1.ExternalService) bool {
	return IsOrphan(service) && service.Annotations[OwnerAnnotation] != "" && service.Name == es.Name && !BelongsTo(service, es)
}

// Adopts reports whether es asks to take over a Service that an earlier ExternalService has left. Admission allows that
// only for users who may update the Service.
func Adopts(es *networkingv1.ExternalService) bool {
	return es.Annotations[networkingv1.AdoptServiceAnnotation] == "true"
}

// IsOrphan reports whether a Service was made for an ExternalService and now belongs to none. Whether it may be taken
// over is not decided here.
func IsOrphan(service *corev1.Service) bool {
	return service.Labels[common.ManagedByLabel] == common.ManagedBy && service.Annotations[AppliedAnnotation] != "" &&
		metav1.GetControllerOf(service) == nil && service.DeletionTimestamp.IsZero()
}
