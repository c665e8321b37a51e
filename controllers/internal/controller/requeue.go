// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// After asks to be called again at the soonest of some times.
func After(now time.Time, times ...time.Time) reconcile.Result {
	at := Soonest(times...)
	if at.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(at.Sub(now), time.Millisecond)}
}

// Soonest is the first of some times; those that are zero do not count.
func Soonest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
