// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package translation names a field of v1 as the author of a v1alpha1 object knows it.
//
// It goes by the plain mapping between the versions, which holds where an object carries nothing that
// was saved from v1. It converts nothing.
package translation
