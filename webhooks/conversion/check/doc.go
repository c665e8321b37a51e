// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check converts a check between v1 and v1alpha1, for each kind that has one. Both versions have the same
// members; v1alpha1 has whole seconds for times, and no tls.
//
// It never refuses a check, and never fills in a default.
package check
