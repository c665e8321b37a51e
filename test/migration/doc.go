// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migration tests the storage migration on a real API server: what stands in etcd, over four
// generations of a CRD, as an upgrade and as a roll-back, with crashes, races and failing
// conversions. One test is of Fairlead's own kinds, by the shipped operator under users who write.
//
// Ring 3: no release has stored another version.
package migration
