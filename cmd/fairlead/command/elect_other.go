// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package command

import "github.com/spf13/cobra"

// electing returns none: `fairlead elect` needs what only Linux does when a parent dies.
func electing(Options) []*cobra.Command { return nil }
