// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package folder serves a certificate that another component renews in a folder, such as a
// mounted Secret of cert-manager: tls.crt with the whole chain, tls.key, and perhaps ca.crt.
//
// The folder itself is watched, since a mounted Secret changes by the swap of one link in it, and
// read at an interval besides, since a watch can be lost without a word. Files that do not fit
// together are a change half done: the last good certificate stays in use until they do.
//
// The package never writes, and never logs what the files hold.
package folder
