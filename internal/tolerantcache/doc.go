// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tolerantcache provides informers that tolerate stored objects which do not decode. To client-go a
// list is one document: one mistyped field of one object fails the whole list, and no object of the kind is
// seen any more.
//
// lister.go lists and watches the URL of the cache's own lister (urlprobe.go). list.go decodes a list item by item while
// it arrives, and decoder.go the objects of a watch: an object that does not decode is kept as far as it does, with its
// fault in an annotation in memory, so that it never looks deleted. client.go refuses to return it, and
// undecodable.go reports it until it is fixed.
//
// The package never changes an object in the cluster, never guesses the meaning of a field, and never
// repeats a value of an object: a fault consists of a path and types.
package tolerantcache
