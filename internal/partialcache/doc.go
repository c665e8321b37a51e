// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package partialcache has a cache for an operator that leaves kinds out: it never lists or watches them, whether their
// CRDs are installed or not, and a reader finds no object of them. It decides about no other kind.
package partialcache
