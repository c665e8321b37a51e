// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apistatus

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IsAbsent reports whether an error of a live request says that the object does not exist: it is a NotFound of the API
// server that names the resource, such as configmaps, and the object. It returns false for the page of a proxy, for a
// kind or a namespace that does not exist, and for an error of a cache, whose NotFound names the kind.
func IsAbsent(err error, resource schema.GroupResource, name string) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsNotFound(err) || apierrors.IsUnexpectedServerError(err) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Group == resource.Group && details.Kind == resource.Resource && details.Name == name
}

// IgnoreAbsent returns nil where IsAbsent, and otherwise the error.
func IgnoreAbsent(err error, resource schema.GroupResource, name string) error {
	if IsAbsent(err, resource, name) {
		return nil
	}
	return err
}

// isFailure reports whether a Status is that of a response 404.
func isFailure(s *metav1.Status) bool {
	return s.Status == metav1.StatusFailure && s.Code == 404 && s.Reason == metav1.StatusReasonNotFound
}
