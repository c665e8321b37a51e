// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
	"github.com/fairlead-dev/fairlead/internal/vet"
	"github.com/fairlead-dev/fairlead/internal/vet/files"
	"github.com/fairlead-dev/fairlead/internal/vet/report"
)

// The exit codes of vet that are not 0.
const (
	exitFindings = 1
	exitUnread   = 2
)

func vetCommand() *cobra.Command {
	format, quiet, strict := report.Text, false, false
	command := &cobra.Command{
		Use:   "vet FILE|FOLDER|-...",
		Short: "Check manifests of Fairlead's kinds without a cluster.",
		Long: `Check manifests of Fairlead's kinds without a cluster, by the rules that a cluster would apply: the
schema and CEL of the definitions, the defaults and rules of the webhooks, and the conversion to every
served version and back. Nothing is sent anywhere, and no file is changed.

Files, folders (every *.yaml, *.yml and *.json in them) and "-", the standard input, may hold several
documents, lists, and other kinds, which are passed over.

The exit code is 0 where nothing is wrong, 1 where something is, and 2 where something could not be
read or the command line is wrong.`,
		Example: `  fairlead vet deploy/
  kubectl kustomize overlays/production | fairlead vet -
  fairlead vet --warnings-as-errors -o sarif deploy/ > fairlead.sarif`,
		RunE: func(command *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				return &exit{exitUnread, errors.New("vet: name a file, a folder, or - for the standard input")}
			}
			write, err := report.New(format, command.OutOrStdout(), report.Options{
				Version: version.Get().Version, Quiet: quiet, WarningsAsErrors: strict,
			})
			if err != nil {
				return &exit{exitUnread, err}
			}
			if _, chosen := os.LookupEnv("GOGC"); !chosen {
				debug.SetGCPercent(400) // the process is short, and a third of its time would go into collecting
			}
			summary, unread := vet.New(vet.Options{}).Run(command.Context(), func(visit files.Visit) error {
				return files.Walk(arguments, files.Options{Stdin: command.InOrStdin()}, visit)
			}, write.Object)
			if err := write.End(summary, unread); err != nil {
				unread = errors.Join(unread, err)
			}
			switch {
			case unread != nil:
				return &exit{exitUnread, fmt.Errorf("vet: %w", unread)}
			case summary.Errors > 0, strict && summary.Warnings > 0:
				return &exit{exitFindings, nil}
			}
			return nil
		},
	}
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &exit{exitUnread, fmt.Errorf("%w; `fairlead vet --help` lists the flags", err)}
	})
	command.Flags().StringVarP(&format, "output", "o", format, "Form of the answer: text, json, sarif or junit.")
	command.Flags().BoolVarP(&quiet, "quiet", "q", quiet, "Leave out warnings, unless they count as errors, and the summary of text.")
	command.Flags().BoolVar(&strict, "warnings-as-errors", strict, "Let the exit code be 1 where there are warnings alone.")
	return command
}
