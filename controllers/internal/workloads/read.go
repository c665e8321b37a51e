// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// shared reads objects as a cache holds them. They must not be changed.
const shared = client.UnsafeDisableDeepCopy

// optionalTimeout limits a read of a kind that a cluster need not have: a cache whose informer has not synced waits for it as
// long as it may, and that of a kind which is not served any more never does.
const optionalTimeout = 5 * time.Second

func bounded(ctx context.Context, kind common.WorkloadKind) (context.Context, context.CancelFunc) {
	if !workloadkinds.IsOptional(kind) {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, optionalTimeout)
}

// emptyOf returns an empty object and list of a kind, which may be one of those of the configuration; nil of one that is not read.
func emptyOf(kind common.WorkloadKind, configured []workloadkinds.Kind) (client.Object, client.ObjectList) {
	known := workloadkinds.Find(configured, kind)
	if known == nil {
		known = workloadkinds.Find(workloadkinds.Known, kind)
	}
	if known == nil {
		return nil, nil
	}
	return known.New()
}

// of reads an object of a known kind, or of one of the configuration.
func of(kind common.WorkloadKind, object runtime.Object, evicts bool, configured []workloadkinds.Kind) *Workload {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return Deployment(o, evicts)
	case *appsv1.StatefulSet:
		return StatefulSet(o, evicts)
	case *appsv1.DaemonSet:
		return DaemonSet(o, evicts)
	case *argorollouts.Rollout:
		return Rollout(o, evicts)
	case *unstructured.Unstructured:
		known := workloadkinds.Find(configured, kind)
		if known.RunsToEnd() {
			return Batch(known, o)
		}
		return Configured(known, o, evicts)
	}
	return nil
}

// Get reads one workload; it returns nil where there is none. From a cache it reads what must not be
// changed. Evicts means that its pods would be evicted. The kind may be one of those of the configuration.
func Get(
	ctx context.Context, from client.Reader, key types.NamespacedName, kind common.WorkloadKind, evicts bool, configured ...workloadkinds.Kind,
) (*Workload, error) {
	object, _ := emptyOf(kind, configured)
	if object == nil {
		return nil, nil
	}
	ctx, cancel := bounded(ctx, kind)
	defer cancel()
	err := from.Get(ctx, key, object, shared)
	if apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err) { // which the page of a proxy is
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, key.Name, err)
	}
	w := of(kind, object, evicts, configured)
	if r, is := object.(*argorollouts.Rollout); is {
		err = w.resolve(ctx, from, r)
	}
	return w, err
}

// List reads the workloads of a namespace that a selector matches, as Get does. What one refers to that cannot be read is in its
// RefersTo, and holds no other.
func List(
	ctx context.Context, from client.Reader, namespace string, kind common.WorkloadKind, selector labels.Selector, evicts bool,
	configured ...workloadkinds.Kind,
) ([]*Workload, error) {
	_, list := emptyOf(kind, configured)
	if list == nil {
		return nil, nil
	}
	ctx, cancel := bounded(ctx, kind)
	defer cancel()
	if err := from.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}, shared); err != nil {
		return nil, fmt.Errorf("list %ss: %w", kind, err)
	}
	var out []*Workload
	err := meta.EachListItem(list, func(object runtime.Object) error {
		w := of(kind, object, evicts, configured)
		out = append(out, w)
		if r, is := object.(*argorollouts.Rollout); is {
			w.RefersTo = w.resolve(ctx, from, r)
		}
		return nil
	})
	return out, err
}

// Each calls do with each workload of a namespace that a cache holds, which must not be changed. A cache that holds none of a
// kind, since nothing that reads them is installed, or nothing asks for the kind, has none.
func Each(
	ctx context.Context, from client.Reader, namespace string, do func(common.WorkloadKind, metav1.Object), configured ...workloadkinds.Kind,
) error {
	for _, of := range slices.Concat(workloadkinds.Known, configured) {
		kind := of.Name()
		_, list := of.New()
		within, cancel := bounded(ctx, kind)
		err := from.List(within, list, client.InNamespace(namespace), shared)
		cancel()
		if uncached := (*cache.ErrResourceNotCached)(nil); errors.As(err, &uncached) {
			continue
		}
		if err != nil {
			return fmt.Errorf("list %ss: %w", kind, err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			object, err := meta.Accessor(item)
			if err == nil {
				do(kind, object)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// ReplicaSetsOf returns the UIDs of the ReplicaSets of a Deployment or Rollout among those that options list.
func ReplicaSetsOf(ctx context.Context, from client.Reader, owner types.UID, options ...client.ListOption) ([]types.UID, error) {
	list := metav1.PartialObjectMetadataList{TypeMeta: ReplicaSets().TypeMeta}
	list.Kind += "List"
	if err := from.List(ctx, &list, options...); err != nil {
		return nil, err
	}
	var sets []types.UID
	for i := range list.Items {
		if ControllerOf(&list.Items[i]) == owner {
			sets = append(sets, list.Items[i].UID)
		}
	}
	return sets, nil
}
