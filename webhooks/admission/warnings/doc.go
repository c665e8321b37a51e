// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package warnings reads what writers are warned of that the object alone does not show: reader.go reads the
// caches of the reconcilers, budgets.go PodDisruptionBudgets.
//
// A warning is never worth a wait: nothing is returned before a cache has synced, and a validator that waited
// for a cache would hold up the writes that the start of that cache may need (elastic/cloud-on-k8s#5025).
// What cannot be read is not warned of.
package warnings
