// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// Get reads one workload; it returns nil where there is none. From a cache it reads what must not be
// changed. Evicts says that its pods would be evicted.
func Get(ctx context.Context, from client.Reader, key types.NamespacedName, kind autorebootv1.TargetKind, evicts bool) (*Workload, error) {
	const shared = client.UnsafeDisableDeepCopy
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
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, key.Name, err)
	}
	return w, nil
}
