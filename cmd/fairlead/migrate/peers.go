// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

// Peers lists all of them, in the order of help.
func Peers() []*Peer {
	return []*Peer{reloader, wave, externalName}
}
