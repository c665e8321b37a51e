// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package warnings reads what the warnings to writers are about, as far as the object alone does not show it. reader.go
// reads the caches of the reconcilers, and budgets.go PodDisruptionBudgets.
//
// A warning is never worth a wait. Nothing is read before a cache has synced. A validator that waited for a cache would
// hold up the writes that the start of that cache may need (elastic/cloud-on-k8s#5025). What cannot be read causes no
// warning.
package warnings
