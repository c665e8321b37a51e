// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"context"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// prune leaves the storage version alone in status.storedVersions, and notes that the goal is reached.
// It returns false where the CRD is no longer the one that the pass was made for: then some
// object may have been stored at another version meanwhile, and the pass says nothing.
func (m *Migrator) prune(ctx context.Context, name string, g goal) (bool, error) {
	crd, err := m.options.Definitions.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	now, err := goalOf(crd)
	if err != nil || !now.same(g) {
		return false, err
	}
	if len(now.old) > 0 {
		if err := m.pruneStatus(ctx, crd, now); err != nil { // a conflict, too, is tried again
			return false, fmt.Errorf("take %v out of status.storedVersions: %w", now.old, err)
		}
	}
	return true, m.annotate(ctx, name, g)
}

// pruneStatus writes the status by itself, which no admission webhook of others can hold up, against
// the version that was read.
func (m *Migrator) pruneStatus(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, g goal) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": crd.ResourceVersion},
		"status":   map[string]any{"storedVersions": []string{g.resource.Version}},
	})
	if err != nil {
		return err
	}
	_, err = m.options.Definitions.Patch(ctx, crd.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Name}, "status")
	return err
}

// annotate notes that the goal is reached. An annotation alone makes the API server convert nothing.
func (m *Migrator) annotate(ctx context.Context, name string, g goal) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{Annotation: g.String()}}})
	if err != nil {
		return err
	}
	_, err = m.options.Definitions.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Name})
	return err
}
