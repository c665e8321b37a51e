// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest changes objects in the text of manifests, in YAML and JSON, and leaves the rest of
// the text as it is: comments, blank lines, the order of fields, quotes and line ends.
//
// An object is read as kubectl reads it, so that both see the same values. Whatever the text becomes
// is read again and compared with what it should say before anybody gets it. The package knows no
// kind, opens no file, and never guesses: a field that did not change keeps its lines, byte for byte.
package manifest
