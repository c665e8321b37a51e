// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package approval defines what is written on an object about who was found to be entitled to what it
// does, and whether that covers the object as it is now. Rights are asked for when an object is
// written, and acted on much later: an approval is how the operator knows, when it acts, that this very
// content was asked about, and in whose name.
//
// It decides nothing, and reads and writes no cluster. Admission alone puts approvals on
// objects; where admission is not asked, any user can write an approval, and it is worth nothing.
package approval
