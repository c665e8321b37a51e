// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ByOwner is the index of ReplicaSets and pods by the UID of their controller.
const ByOwner = "metadata.controller"

// Index has the cache keep the index ByOwner. It must be called once for each cache.
func Index(ctx context.Context, in client.FieldIndexer) error {
	for _, owned := range []client.Object{&corev1.Pod{}, ReplicaSets()} {
		if err := in.IndexField(ctx, owned, ByOwner, OwnerOf); err != nil {
			return fmt.Errorf("index %T by owner: %w", owned, err)
		}
	}
	return nil
}

// OwnerOf is what ByOwner holds of an object.
func OwnerOf(object client.Object) []string {
	if owner := ControllerOf(object); owner != "" {
		return []string{string(owner)}
	}
	return nil
}

// ReplicaSets asks for the metadata of ReplicaSets.
func ReplicaSets() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ReplicaSet"}}
}
