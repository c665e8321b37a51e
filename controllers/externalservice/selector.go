// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// A selector that stood on our Service has Kubernetes publish pods behind it, and take none of them away when the selector
// is removed: their controllers look at Services with a selector alone. What was made of it is removed for
// selectorAftermath, since those controllers may be behind.
const (
	selectorAftermath = time.Minute
	selectorInterval  = 5 * time.Second
)

// Marks of v1/Endpoints that are made of a selector, and not by hand. Kubernetes mirrors both into slices.
const (
	endpointsManagedBy   = "endpoints.kubernetes.io/managed-by"
	endpointsTriggerTime = "endpoints.kubernetes.io/last-change-trigger-time"
)

// removeSelected removes what was made of a selector that was removed from the Service, and returns when to look again. The
// annotation says so, and survives this process.
func (r *reconciliation) removeSelected(ctx context.Context) (requeueAt time.Time) {
	if r.service == nil || r.service.Annotations[rules.SelectorRemovedAnnotation] == "" {
		return time.Time{}
	}
	r.refusals.add(r.removeSelectedSlices(ctx))
	r.refusals.add(r.removeSelectedEndpoints(ctx))
	removed, err := time.Parse(time.RFC3339, r.service.Annotations[rules.SelectorRemovedAnnotation])
	if err == nil && r.now.Before(removed.Add(selectorAftermath)) || r.refusals.any() {
		return r.now.Add(selectorInterval)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": r.service.ResourceVersion, "annotations": map[string]any{rules.SelectorRemovedAnnotation: nil},
	}})
	if err == nil {
		err = r.Client.Patch(ctx, r.service.DeepCopy(), client.RawPatch(types.MergePatchType, patch), client.FieldOwner(common.FieldOwner))
	}
	r.refusals.add(err)
	return time.Time{}
}

func (r *reconciliation) removeSelectedSlices(ctx context.Context) error {
	var list discoveryv1.EndpointSliceList
	err := r.Live.List(ctx, &list, client.InNamespace(r.service.Namespace), client.MatchingLabels{
		discoveryv1.LabelServiceName: r.service.Name, discoveryv1.LabelManagedBy: selectedBy,
	})
	if err != nil {
		return fmt.Errorf("list EndpointSlices of a selector: %w", err)
	}
	for i := range list.Items {
		slice := &list.Items[i]
		if !metav1.IsControlledBy(slice, r.service) {
			continue
		}
		if err := r.Client.Delete(ctx, slice, client.Preconditions{UID: &slice.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete EndpointSlice %s of a selector: %w", slice.Name, err)
		}
	}
	return nil
}

func (r *reconciliation) removeSelectedEndpoints(ctx context.Context) error {
	endpoints := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Endpoints"}}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(r.service), endpoints)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read Endpoints: %w", err)
	case endpoints.Labels[endpointsManagedBy] == "" && endpoints.Annotations[endpointsTriggerTime] == "":
		return nil // made by hand: the slices that mirror them are reported
	}
	if err := r.Client.Delete(ctx, endpoints, client.Preconditions{UID: &endpoints.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Endpoints of a selector: %w", err)
	}
	return nil
}
