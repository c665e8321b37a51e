// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package containment keeps one stored object that does not fit its type from hiding all others of its
// kind. To client-go a list is one document: where a single field of a single object is mistyped, the
// list fails, and no object of the kind is seen any more. Informers of this package decode such a list
// item by item. What fits is seen as ever; what does not is kept in the cache, marked, so that it never
// looks deleted, and readers are refused it. A Register names it until it is mended.
//
// The package never changes an object in the cluster, never guesses what a field was meant to be, and
// never repeats a value of an object: its words hold paths and types alone.
package tolerantcache
