// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// CatchUp is how long a cache may be behind our last write of a status before it is used anyway: what
	// we wrote may have been changed or removed before the cache saw it. A decision on an old status is then
	// refused by the API server, and nothing is acted on.
	CatchUp = 5 * time.Second
	// Retry is the wait for a cache that is behind.
	Retry = 200 * time.Millisecond
)

// Err is a cache that does not show yet what was written, or an object that has just changed.
var Err = errors.New("the object has changed, or the cache is behind")

// Mark is the version of an object that our last write of its status made. Its zero value is none.
type Mark struct {
	version string
	at      time.Time
}

// Wrote takes down a write that has just succeeded.
func (m *Mark) Wrote(object client.Object, now time.Time) {
	m.version, m.at = object.GetResourceVersion(), now
}

// Behind says whether an object, as the cache has it, lacks the status that was written last.
func (m *Mark) Behind(object client.Object, now time.Time) bool {
	if m.version == "" || now.Sub(m.at) >= CatchUp {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), m.version)
	return err == nil && order < 0
}

// Confirm reads an object from the API server into live, and returns Err unless it is stored as the one
// given. A process that has lost the lead, or a cache that is behind, would otherwise do what was done long
// ago.
func Confirm(ctx context.Context, from client.Reader, stored, live client.Object) error {
	if err := from.Get(ctx, client.ObjectKeyFromObject(stored), live); err != nil {
		return fmt.Errorf("read the object before it is acted on: %w", err)
	}
	if live.GetUID() != stored.GetUID() || live.GetResourceVersion() != stored.GetResourceVersion() {
		return Err
	}
	return nil
}

// Result is what a reconcile that failed returns: an object that has changed meanwhile, or whose cache
// is behind, is reconciled again soon, and one whose namespace is going is left alone.
func Result(err error) (reconcile.Result, error) {
	switch {
	case apierrors.IsConflict(err), errors.Is(err, Err):
		return reconcile.Result{RequeueAfter: Retry}, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, err
}
