// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

// rewrite stores an object again. A patch that changes nothing is stored where the bytes differ, and
// they do where the object was stored at another version. With every, objects are rewritten whose
// metadata shows no reason for it.
func (m *Migrator) rewrite(ctx context.Context, g goal, object *metav1.PartialObjectMetadata, every bool) (result, error) {
	managers, stale := g.managers(object, time.Now())
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
	written, err := m.patch(ctx, g, object, body)
	switch {
	case err == nil && written.ResourceVersion == object.ResourceVersion:
		return unchanged, nil
	case err == nil:
		return rewritten, nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err) && !stale: // the faster writer has stored it at the storage version
		return gone, nil
	default:
		return failed, err
	}
}

// patch writes through the version that Kubernetes prefers, or in another way where the content is refused
// there. The API server forgives an update what was stored before, except a rule that cannot be evaluated, such
// as for want of a field, and what defaulting makes of the object (k8s.io/apiextensions-apiserver,
// pkg/apiserver/schema/cel, validateExpressions). What was valid when it was written is so at the version
// it was written at; and a write of the status leaves everything else as it is, unasked. Each is stored at
// the storage version.
func (m *Migrator) patch(
	ctx context.Context, g goal, object *metav1.PartialObjectMetadata, body []byte,
) (*metav1.PartialObjectMetadata, error) {
	options := metav1.PatchOptions{FieldManager: Name}
	write := func(resource schema.GroupVersionResource, subresources ...string) (*metav1.PartialObjectMetadata, error) {
		return m.objectsOf(resource, object.Namespace).Patch(ctx, object.Name, types.MergePatchType, body, options, subresources...)
	}
	var refused error
	for _, resource := range g.through {
		written, err := write(resource)
		if !apierrors.IsInvalid(err) {
			return written, err
		}
		if refused == nil {
			refused = err
		}
	}
	// A kind without a status, or the right to write it, leaves it at the refusal.
	if written, err := write(g.resource, "status"); err == nil || apierrors.IsConflict(err) {
		return written, err
	}
	return nil, refused
}

func (m *Migrator) objectsOf(resource schema.GroupVersionResource, namespace string) metadata.ResourceInterface {
	if namespace == "" {
		return m.options.Objects.Resource(resource)
	}
	return m.options.Objects.Resource(resource).Namespace(namespace)
}

// patchOf names the version that was read, so that nothing newer is overwritten.
func patchOf(object *metav1.PartialObjectMetadata, managers []metav1.ManagedFieldsEntry, stale bool) ([]byte, error) {
	fields := map[string]any{"resourceVersion": object.ResourceVersion}
	if stale {
		fields["managedFields"] = managers
	}
	return json.Marshal(map[string]any{"metadata": fields})
}
