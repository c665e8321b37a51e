// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
)

func versionCommand() *cobra.Command {
	f := newOutputFlags(inspectText, inspectJSON, inspectYAML)
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program.",
		Args:  noArgs,
		RunE: unread(func(command *cobra.Command, _ []string) error {
			if err := f.checkOutput(); err != nil {
				return err
			}
			if f.format == inspectText {
				_, err := fmt.Fprintln(command.OutOrStdout(), version.Get())
				return err
			}
			return f.write(command.OutOrStdout(), version.Get())
		}),
	}
	f.addOutput(command)
	return command
}
