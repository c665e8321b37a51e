// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package convert converts the objects in manifests between the served versions of their kinds, without
// a cluster.
//
// It finds files and objects, hands each object to the converter of its kind, and has the answer
// written into the text (package manifest). It holds no conversion itself and knows no kind: both are
// given to it, so that what it returns is what the webhook would. Objects of other groups, and
// everything between the objects, pass through as they are. It never writes half of a file, and
// nothing at all on standard output where an object failed.
package convert
