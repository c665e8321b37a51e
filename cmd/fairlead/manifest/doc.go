// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads objects in the text of manifests, in YAML and JSON, and changes them there.
//
// A Splitter finds the documents of a text. Read returns what a document says as kubectl reads it, with
// the place of every field: a plain scalar means what it means in YAML 1.1, so that `off` is false and
// `0777` is 511, and what kubectl would pass over in silence, such as a key that is given twice, is a
// problem with its place. Parse returns a document that can be rewritten: comments, blank lines, the
// order of fields, quotes and line ends stay, and a field that did not change keeps its lines, byte for
// byte. Whatever the text becomes is read again and compared with what it should say before anybody
// gets it.
//
// It knows no kind, judges no value, opens no file, and never guesses. No input makes it run away: the
// size of a document, its depth and what its aliases expand to are bounded.
package manifest
