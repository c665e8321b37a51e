// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollouts has RebootPolicies and ChaosPods of the workloads of other projects: a real control plane, the controller of
// Argo Rollouts itself, a loop in place of that of OpenKruise, and CRDs that come and go while the operator runs.
//
// Ring 3: it builds and runs the controllers of other projects.
package rollouts
