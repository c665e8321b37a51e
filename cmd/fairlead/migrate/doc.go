// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate writes Fairlead's objects for what other projects, and Services without a selector, do in a cluster
// today: the Peers.
//
//   - input.go reads objects of manifests, or of a cluster, with package manifest.
//   - subject.go is an object while it is translated: it remembers which fields were read, so that each of the others
//     is named as one that was not carried over.
//   - One file for each peer translates its objects; service.go and workload.go have what several of them share.
//   - migrate.go runs a peer over the input, and checks what it wrote with package vet. write.go writes the objects with
//     comments, and the plan.
//
// It never writes to a cluster or to a file. It drops nothing silently, and where what cannot be carried over would widen
// what an object does, the object is suspended. The same input gives the same bytes, also where the input holds the
// output of an earlier run.
package migrate
