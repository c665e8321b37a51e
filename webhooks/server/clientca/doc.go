// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clientca keeps the authorities that sign the certificates of the webhooks' callers, as a
// PEM file has them, and follows the file. What cannot be used changes nothing: the last good
// authorities stay.
//
// It judges no caller, makes no certificate, and writes nothing.
package clientca
