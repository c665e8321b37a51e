// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clientca reads the authorities of the webhooks' callers from a PEM file, and follows the file. If the file
// becomes unusable, the last good authorities stay.
//
// It verifies no caller, creates no certificate, and writes nothing.
package clientca
