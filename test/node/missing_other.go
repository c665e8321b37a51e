// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package node

// Missing says what a real node needs that this machine lacks.
func Missing() []string { return []string{"Linux"} }
