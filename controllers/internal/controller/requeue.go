// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// RequeueAt asks to be called again at the soonest of some times.
func RequeueAt(now time.Time, times ...time.Time) reconcile.Result {
	at := Earliest(times...)
	if at.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(at.Sub(now), time.Millisecond)}
}

// Earliest is the first of some times; those that are zero do not count.
func Earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
