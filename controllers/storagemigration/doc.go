// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storagemigration rewrites what is stored at an old version, so that old versions can go.
//
// A CRD names in status.storedVersions every version that some object may still be stored at.
// The API server adds to the list and never takes anything away, and refuses to remove a version that
// stands there. The package writes each object once without a change, which stores it at the storage
// version, and then takes the other versions out of the list, under an optimistic lock: only after a
// pass over all objects that began when every API server knew the storage version, and during which
// the CRD did not change.
//
// It also takes out of the objects' managedFields what belongs to versions that are no longer served.
// The API server cannot convert such an entry any more, and may refuse an apply for it
// (kubernetes/kubernetes#111937).
//
// # Pace
//
// Objects are listed by their metadata in pages, and rewritten at a bounded rate. How far a pass has
// come is kept in an annotation of the CRD, page by page, and a new leader goes on from there.
// A pass pauses while conversions fail, since each of its writes may need one, and leaves a kind alone
// while a StorageVersionMigration of the API server's own is at it.
//
// It writes no CRD but those that it is given, nothing of an object but managedFields, and
// nothing at all once there is nothing to do.
package storagemigration
