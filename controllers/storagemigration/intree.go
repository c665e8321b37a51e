// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// inTree is the group of the API server's own migrations, and its versions, the newest first.
var inTree = []schema.GroupVersionResource{
	{Group: "storagemigration.k8s.io", Version: "v1", Resource: "storageversionmigrations"},
	{Group: "storagemigration.k8s.io", Version: "v1beta1", Resource: "storageversionmigrations"},
	{Group: "storagemigration.k8s.io", Version: "v1alpha1", Resource: "storageversionmigrations"},
}

// deferTo returns the name of a StorageVersionMigration of the resource that has not ended; empty
// where there is none, or no such kind.
func (m *Migrator) deferTo(ctx context.Context, resource schema.GroupResource) (string, error) {
	if m.Migrations == nil {
		return "", nil
	}
	for _, kind := range inTree {
		found, err := m.Migrations.Resource(kind).List(ctx, metav1.ListOptions{Limit: pageSize})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("list %s: %w", kind.GroupResource(), err)
		}
		for i := range found.Items {
			if migrates(found.Items[i].Object, resource) && !ended(found.Items[i].Object) {
				return found.Items[i].GetName(), nil
			}
		}
		return "", nil
	}
	return "", nil
}

func migrates(migration map[string]any, resource schema.GroupResource) bool {
	group, _, _ := unstructured.NestedString(migration, "spec", "resource", "group")
	name, _, _ := unstructured.NestedString(migration, "spec", "resource", "resource")
	return group == resource.Group && name == resource.Resource
}

func ended(migration map[string]any) bool {
	conditions, _, _ := unstructured.NestedSlice(migration, "status", "conditions")
	for _, one := range conditions {
		condition, ok := one.(map[string]any)
		if !ok || condition["status"] != string(metav1.ConditionTrue) {
			continue
		}
		if condition["type"] == "Succeeded" || condition["type"] == "Failed" {
			return true
		}
	}
	return false
}
