// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package checksecrets reads the Secrets that the checks of a kind name: the certificates that they trust, and the credentials
// that they present. It reads one when a check needs it, again about once a minute, and soon after a check by it has failed.
// It watches and lists none, keeps no other content of a Secret, and quotes none.
package checksecrets
