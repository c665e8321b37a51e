// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timing says when a reconciler looks again. It has no clock.
package timing
