// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// shared reads objects as a cache holds them. They must not be changed.
const shared = client.UnsafeDisableDeepCopy

// Get reads one workload; it returns nil where there is none. From a cache it reads what must not be
// changed. Evicts means that its pods would be evicted.
func Get(ctx context.Context, from client.Reader, key types.NamespacedName, kind autorebootv1.TargetKind, evicts bool) (*Workload, error) {
	var w *Workload
	var err error
	switch kind {
	case autorebootv1.TargetDeployment:
		var d appsv1.Deployment
		if err = from.Get(ctx, key, &d, shared); err == nil {
			w = Deployment(&d, evicts)
		}
	case autorebootv1.TargetStatefulSet:
		var set appsv1.StatefulSet
		if err = from.Get(ctx, key, &set, shared); err == nil {
			w = StatefulSet(&set, evicts)
		}
	case autorebootv1.TargetDaemonSet:
		var set appsv1.DaemonSet
		if err = from.Get(ctx, key, &set, shared); err == nil {
			w = DaemonSet(&set, evicts)
		}
	}
	if apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err) { // which the page of a proxy is
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, key.Name, err)
	}
	return w, nil
}

// List reads the workloads of a namespace that a selector matches. From a cache it reads what must not be changed. Evicts
// means that their pods would be evicted.
func List(ctx context.Context, from client.Reader, namespace string, kind autorebootv1.TargetKind, selector labels.Selector, evicts bool) ([]*Workload, error) {
	in := []client.ListOption{client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}, shared}
	var out []*Workload
	var err error
	switch kind {
	case autorebootv1.TargetDeployment:
		var list appsv1.DeploymentList
		err = from.List(ctx, &list, in...)
		for i := range list.Items {
			out = append(out, Deployment(&list.Items[i], evicts))
		}
	case autorebootv1.TargetStatefulSet:
		var list appsv1.StatefulSetList
		err = from.List(ctx, &list, in...)
		for i := range list.Items {
			out = append(out, StatefulSet(&list.Items[i], evicts))
		}
	case autorebootv1.TargetDaemonSet:
		var list appsv1.DaemonSetList
		err = from.List(ctx, &list, in...)
		for i := range list.Items {
			out = append(out, DaemonSet(&list.Items[i], evicts))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list %ss: %w", kind, err)
	}
	return out, nil
}
