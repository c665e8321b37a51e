// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rulestest holds objects and CRDs for the tests of rules. Only tests import it.
package rulestest
