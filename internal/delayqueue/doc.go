// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agenda runs keys when they are due: one timer for all of them, a bounded number of
// workers that are started on demand and end when there is nothing to do, and no more than about
// half of what is free for any one share, so that a tenant whose keys hang cannot starve the rest.
//
// It never runs a key twice at once, never holds more than one entry for a key, and knows nothing
// of what a run does. A run that does not end when its context ends keeps Run from returning.
package delayqueue
