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
// Objects are listed by their metadata in pages, and rewritten one after the other at a bounded rate. A pass pauses
// while conversions fail, since each of its writes may need one, and goes on from there; a new leader begins again.
// An annotation of the CRD holds what was reached.
//
// It writes no CRD except those that it is given, nothing of an object except managedFields, and
// nothing at all once there is nothing to do.
package storagemigration
