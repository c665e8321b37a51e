// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

// maxRaces bounds how often an object that changed between reading and writing is read again.
const maxRaces = 5

// rewrite stores an object anew. A patch that changes nothing is stored where the bytes differ, and
// they do where the object was stored at another version. With every, objects are rewritten whose
// metadata shows no reason for it.
func (m *Migrator) rewrite(ctx context.Context, g goal, object *metav1.PartialObjectMetadata, every bool) (result, error) {
	objects := m.objectsOf(g, object.Namespace)
	for range maxRaces {
		managers, stale := g.managers(object, m.Clock.Now())
		if !every && !stale {
			return unchanged, nil
		}
		if err := m.limit.Wait(ctx); err != nil {
			return failed, err
		}
		body, err := patchOf(object, managers, stale)
		if err != nil {
			return failed, err
		}
		written, err := objects.Patch(ctx, object.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: Name})
		switch {
		case err == nil && written.ResourceVersion == object.ResourceVersion:
			return unchanged, nil
		case err == nil:
			return rewritten, nil
		case apierrors.IsNotFound(err):
			return gone, nil
		case !apierrors.IsConflict(err):
			return failed, err
		case !stale:
			return gone, nil // whoever was faster has stored it at the storage version
		}
		if object, err = objects.Get(ctx, object.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return gone, nil
		} else if err != nil {
			return failed, err
		}
	}
	return failed, fmt.Errorf("changed %d times in a row between reading and writing", maxRaces)
}

func (m *Migrator) objectsOf(g goal, namespace string) metadata.ResourceInterface {
	if namespace == "" {
		return m.Objects.Resource(g.resource)
	}
	return m.Objects.Resource(g.resource).Namespace(namespace)
}

// patchOf names the version that was read, so that nothing newer is overwritten.
func patchOf(object *metav1.PartialObjectMetadata, managers []metav1.ManagedFieldsEntry, stale bool) ([]byte, error) {
	fields := map[string]any{"resourceVersion": object.ResourceVersion}
	if stale {
		fields["managedFields"] = managers
	}
	return json.Marshal(map[string]any{"metadata": fields})
}
