// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rulestest has objects and CRDs for the tests of rules. No program uses it.
package rulestest
