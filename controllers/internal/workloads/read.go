// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
)

// shared reads objects as a cache holds them. They must not be changed.
const shared = client.UnsafeDisableDeepCopy

// kinds has an empty object and list of each kind that is read.
var kinds = map[common.WorkloadKind]func() (client.Object, client.ObjectList){
	common.WorkloadDeployment:  func() (client.Object, client.ObjectList) { return &appsv1.Deployment{}, &appsv1.DeploymentList{} },
	common.WorkloadStatefulSet: func() (client.Object, client.ObjectList) { return &appsv1.StatefulSet{}, &appsv1.StatefulSetList{} },
	common.WorkloadDaemonSet:   func() (client.Object, client.ObjectList) { return &appsv1.DaemonSet{}, &appsv1.DaemonSetList{} },
}

// of reads an object of one of kinds.
func of(object runtime.Object, evicts bool) *Workload {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return Deployment(o, evicts)
	case *appsv1.StatefulSet:
		return StatefulSet(o, evicts)
	case *appsv1.DaemonSet:
		return DaemonSet(o, evicts)
	}
	return nil
}

// Get reads one workload; it returns nil where there is none. From a cache it reads what must not be
// changed. Evicts means that its pods would be evicted.
func Get(ctx context.Context, from client.Reader, key types.NamespacedName, kind common.WorkloadKind, evicts bool) (*Workload, error) {
	if kinds[kind] == nil {
		return nil, nil
	}
	object, _ := kinds[kind]()
	err := from.Get(ctx, key, object, shared)
	if apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err) { // which the page of a proxy is
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, key.Name, err)
	}
	return of(object, evicts), nil
}

// List reads the workloads of a namespace that a selector matches, as Get does.
func List(
	ctx context.Context, from client.Reader, namespace string, kind common.WorkloadKind, selector labels.Selector, evicts bool,
) ([]*Workload, error) {
	if kinds[kind] == nil {
		return nil, nil
	}
	_, list := kinds[kind]()
	if err := from.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}, shared); err != nil {
		return nil, fmt.Errorf("list %ss: %w", kind, err)
	}
	var out []*Workload
	err := meta.EachListItem(list, func(object runtime.Object) error {
		out = append(out, of(object, evicts))
		return nil
	})
	return out, err
}

// Each calls do with each workload of a namespace that a cache holds, which must not be changed. A cache that holds no
// workloads, since no kind that reads them is installed, has none.
func Each(ctx context.Context, from client.Reader, namespace string, do func(common.WorkloadKind, metav1.Object)) error {
	for kind, empty := range kinds {
		_, list := empty()
		err := from.List(ctx, list, client.InNamespace(namespace), shared)
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

// ReplicaSetsOf returns the UIDs of the ReplicaSets of a Deployment among those that options list.
func ReplicaSetsOf(ctx context.Context, from client.Reader, deployment types.UID, options ...client.ListOption) ([]types.UID, error) {
	list := metav1.PartialObjectMetadataList{TypeMeta: ReplicaSets().TypeMeta}
	list.Kind += "List"
	if err := from.List(ctx, &list, options...); err != nil {
		return nil, err
	}
	var sets []types.UID
	for i := range list.Items {
		if ControllerOf(&list.Items[i]) == deployment {
			sets = append(sets, list.Items[i].UID)
		}
	}
	return sets, nil
}
