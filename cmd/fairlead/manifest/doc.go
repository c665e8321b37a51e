// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads objects in the text of manifests, in YAML and JSON, and writes them.
//
//   - split.go cuts a text into its documents, the Parts.
//   - node.go is the one model of a value: what it is, where it is written, and what is wrong with it.
//   - yaml.go and json.go read a Part into Nodes as kubectl reads it: plain scalars have their meaning in
//     YAML 1.1, so that `off` is false and `0777` is 511. What kubectl ignores silently, such as a key
//     that is given twice, is a Problem with its position.
//   - document.go gives a document another value. The new text is read again, with kubectl's own library, and
//     compared with the value before it is returned. A document of the same value keeps its text, byte for byte.
//   - yamlwriter.go writes YAML, copies the comments of fields that stay, and lists the others.
//
// The package has no code for a kind, validates no value, opens no file, and never guesses. The size of a document,
// its depth and what its aliases expand to are bounded.
package manifest
