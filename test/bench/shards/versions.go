// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// kinds of which no object may be written where nothing is to be done.
var kinds = []schema.GroupVersionKind{
	discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), corev1.SchemeGroupVersion.WithKind("Service"),
	networkingv1.GroupVersion.WithKind("ExternalService"), autorebootv1.GroupVersion.WithKind("RebootPolicy"),
}

// versions are the UIDs and resource versions of objects by namespace/name.
type versions map[string]string

// read returns those of all objects, by kind.
func (r *run) read(ctx context.Context) (map[string]versions, error) {
	all := map[string]versions{}
	for _, kind := range kinds {
		list := metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := r.stage.Client.List(ctx, &list); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		found := make(versions, len(list.Items))
		for i := range list.Items {
			m := &list.Items[i]
			found[m.Namespace+"/"+m.Name] = string(m.UID) + " " + m.ResourceVersion
		}
		all[kind.Kind] = found
	}
	return all, nil
}

// changed is how many objects were written, made or deleted.
func changed(before, after versions) int {
	n := 0
	for name, version := range after {
		if before[name] != version {
			n++
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			n++
		}
	}
	return n
}
