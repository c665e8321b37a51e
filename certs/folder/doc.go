// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package folder serves a certificate that another component renews in a folder, such as a mounted Secret
// of cert-manager: tls.crt with the whole chain, tls.key, and optionally ca.crt.
//
// The folder itself is watched, since the kubelet updates a mounted Secret by replacing one symbolic link
// in it, and read at an interval, since a watch can be lost without an error. Files that do not match are
// an update in progress: the last valid certificate stays in use.
//
// The package never writes, and never logs the content of the files.
package folder
