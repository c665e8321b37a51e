// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package impersonation keeps clients that act in the name of ServiceAccounts.
package impersonation
