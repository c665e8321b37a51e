// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package follow holds one watch of one Secret by its name, which needs a right to no other. It reads no
// content: whoever is told reads for itself.
package follow
