// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package command

import "github.com/spf13/cobra"

// electing returns none: `fairlead elect` takes process groups and their signals.
func electing(Options) []*cobra.Command { return nil }
