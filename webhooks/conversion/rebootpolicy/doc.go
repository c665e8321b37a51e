// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rebootpolicy converts RebootPolicies between v1, the hub, and v1alpha1.
//
// v1alpha1 knows one target by its name, and probes: the first of the targets and the Probe
// triggers of v1. The rest of v1 is saved in an annotation and keeps its position while the view is
// edited.
//
// It never refuses an object. A target without a name becomes one without a selector as well: the rules
// of v1 (internal/rules/rebootpolicy) refuse it.
package rebootpolicy
