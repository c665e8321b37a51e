// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objectwatch watches one object by its name, which needs no right to any other object. It
// only signals that the object may have changed: the caller reads the object itself.
package objectwatch
