// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rebootpolicy plays RebootPolicy through as users meet it: a real control plane with
// workloads whose pods really roll, replicas of the operator as processes, and servers on the IPs of
// pods that answer, fail and heal as told. Its tests see objects, conditions, events and metrics.
//
// They never look inside the operator, and never judge by how long something took.
//
// Ring 2: a restart that is lost or needless shows only where pods roll.
package rebootpolicy
