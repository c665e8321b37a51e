// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rebootpolicy holds the rules of the kind RebootPolicy at v1: its defaults, what makes an
// object valid beyond its schema and CEL, and what is worth a warning.
//
// All functions are pure. They never read the cluster: whether a target or a source exists, or
// whether the user may restart it, is asked elsewhere.
package rebootpolicy
