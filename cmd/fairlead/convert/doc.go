// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package convert converts the objects in manifests between the served versions of their kinds, without
// a cluster.
//
// It finds files (files.go) and the objects in them (convert.go), converts each object with the converter of its kind
// (object.go), and has package manifest write the document, which lists the comments that are lost. run.go does that
// for a command line. The converters and kinds are options, so that the result is that of the webhook. Objects of other
// groups, and the text between objects, do not change. It never writes a part of a file, and nothing to the standard
// output where an object failed.
package convert
