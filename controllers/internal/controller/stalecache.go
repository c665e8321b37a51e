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
	// StaleTimeout is how long a cache may be behind our last write of a status before it is used anyway: what
	// we wrote may have been changed or removed before the cache saw it. A decision on an old status is then
	// refused by the API server, and nothing is acted on.
	StaleTimeout = 5 * time.Second
	// StaleRetry is the wait for a cache that is behind.
	StaleRetry = 200 * time.Millisecond
)

// ErrStale is a cache that does not show yet what was written, or an object that has just changed.
var ErrStale = errors.New("the object has changed, or the cache is behind")

// LastWrite is the version of an object that our last write of its status made. Its zero value is none.
type LastWrite struct {
	version string
	at      time.Time
}

// Record records a write that has just succeeded.
func (l *LastWrite) Record(object client.Object, now time.Time) {
	l.version, l.at = object.GetResourceVersion(), now
}

// Is reports whether the write made this version of the object.
func (l *LastWrite) Is(object client.Object) bool {
	return l.version != "" && l.version == object.GetResourceVersion()
}

// NewerThan reports whether an object, as the cache has it, lacks the status that was written last.
func (l *LastWrite) NewerThan(object client.Object, now time.Time) bool {
	if l.version == "" || now.Sub(l.at) >= StaleTimeout {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), l.version)
	return err == nil && order < 0
}

// ConfirmStored reads an object from the API server into live, and returns Err unless it is stored as the one
// given. A process that has lost the lead, or a cache that is behind, would otherwise do what was done long
// ago.
func ConfirmStored(ctx context.Context, from client.Reader, stored, live client.Object) error {
	if err := from.Get(ctx, client.ObjectKeyFromObject(stored), live); err != nil {
		return fmt.Errorf("read the object before it is acted on: %w", err)
	}
	if live.GetUID() != stored.GetUID() || live.GetResourceVersion() != stored.GetResourceVersion() {
		return ErrStale
	}
	return nil
}

// ResultOf returns the result of a reconcile that failed with err. An object that has changed meanwhile, or whose cache is
// behind, is retried soon. One whose status is refused is retried after a backoff. One whose namespace is being deleted is not
// retried.
func ResultOf(err error) (reconcile.Result, error) {
	var refused *refusedStatusError
	switch {
	case apierrors.IsConflict(err), errors.Is(err, ErrStale):
		return reconcile.Result{RequeueAfter: StaleRetry}, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return reconcile.Result{}, nil
	case errors.As(err, &refused):
		return reconcile.Result{RequeueAfter: refused.retryAfter}, nil
	}
	return reconcile.Result{}, err
}
