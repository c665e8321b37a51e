// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
)

func versionCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary.",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			info := version.Get()
			switch output {
			case "text":
				_, err := fmt.Fprintln(command.OutOrStdout(), info)
				return err
			case "json":
				encoder := json.NewEncoder(command.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(info)
			default:
				return fmt.Errorf("--output %q: must be text or json", output)
			}
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "text", "Output format. One of: text, json.")
	complete(command, "output", "text", "json")
	return command
}
