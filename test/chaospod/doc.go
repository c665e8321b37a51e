// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaospod tests what ChaosPods do on a real control plane with simulated kubelets: that pods die
// and come back, that what must not die does not, and that users are told.
//
// Ring 2: evictions, budgets and owners are those of an API server.
package chaospod
