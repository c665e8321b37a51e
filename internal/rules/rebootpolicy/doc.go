// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rebootpolicy holds the rules of the kind RebootPolicy at v1: its defaults, what is valid beyond its schema,
// and what is worth a warning.
//
// All functions are pure. They never read the cluster: callers check whether a target or a source exists, and whether a
// user may restart it.
package rebootpolicy
