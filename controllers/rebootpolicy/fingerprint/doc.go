// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fingerprint makes keyed hashes of content, whose key is a Secret of the installation. A reader of a fingerprint
// sees that something changed, and cannot test a guess of what it is, as with a plain hash of a short password.
//
// It never keeps, logs or returns content, and its key leaves it in no error and no print.
package fingerprint
