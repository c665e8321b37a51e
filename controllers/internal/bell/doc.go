// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bell has objects reconciled because of something that no watch of the cluster tells. It
// reconciles nothing, and never blocks the caller of Ring.
package bell
