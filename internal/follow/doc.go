// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package follow holds one watch of one object by its name, which needs a right to no other. It reads no
// content: the caller reads the object for itself.
package follow
