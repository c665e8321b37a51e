// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fingerprint stands for content without telling anything about it: a keyed hash, whose key
// is a Secret of the installation. A reader of a fingerprint can tell that something changed, and
// can test no guess of what it is (a plain hash of a password is as good as a short password).
//
// It never keeps, logs or returns content, and its key leaves it in no error and no print.
package fingerprint
