// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package folder serves a certificate that another component renews in a folder, such as a mounted Secret
// of cert-manager: tls.crt with the whole chain, tls.key, and optionally ca.crt.
//
// The folder itself is watched, since the kubelet updates a mounted Secret by replacing one symbolic link
// in it, and read at an interval, since a watch can be lost without an error. Files that do not match are
// an update in progress: the last valid certificate stays in use.
//
// A certificate of another authority is served once every target trusts that (certs/trust): the kubelet
// updates the folders of other replicas minutes earlier or later.
//
// The package never writes files, and never logs their content.
package folder
