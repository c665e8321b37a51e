// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/report"
)

// The exit codes of vet that are not 0.
const (
	exitFindings = 1
	exitUnread   = 2
)

// vetFlags are those of the command.
type vetFlags struct {
	inputFlags
	format        string
	disable       []string
	program       string
	quiet, strict bool
}

func vetCommand(o Options) *cobra.Command {
	f := vetFlags{inputFlags: newInputFlags(), format: report.Text, program: o.Program}
	command := &cobra.Command{
		Use:   "vet FILE|FOLDER|-... | vet --live",
		Short: "Check manifests of Fairlead's kinds without a cluster, or the objects of one.",
		Long: `Check manifests of Fairlead's kinds without a cluster, by the rules of a cluster: the schema and CEL of the
definitions, the defaults and rules of the webhooks, and the conversion to every served version and back. Also checks
the operator's configuration, in a file or a ConfigMap. The command sends nothing and changes no file.

Files, folders (every *.yaml, *.yml and *.json in them) and "-", the standard input, may hold several documents and
lists. The command skips other kinds, patches that a kustomization.yaml names, templates of a Helm chart, and documents
that begin with the comment "# fairlead:ignore". An empty standard input is an error, since the command in front of the
pipe may have failed.

With --live, checks the objects of a cluster in the same way, and that each can be read at every served version. The
operator need not run. You need the permissions to get and list Fairlead's kinds, and to get their definitions. The
command writes nothing.

Exit code 0: nothing is wrong. 1: something is wrong. 2: something cannot be read, or the command line is wrong.`,
		Example: strings.ReplaceAll(`  fairlead vet deploy/
  helm template . | fairlead vet -
  kubectl kustomize overlays/production | fairlead vet -
  fairlead vet --warnings-as-errors -o sarif deploy/ > fairlead.sarif
  fairlead vet --disable=FL1502 --exclude=testdata .
  fairlead vet --live --context=production`, "fairlead vet", o.Program+" vet"),
		RunE: func(command *cobra.Command, arguments []string) error {
			arguments = append(arguments, f.files...)
			if err := f.complete(command, arguments); err != nil {
				return &exit{exitUnread, fmt.Errorf("vet: %w", err)}
			}
			write, err := report.New(f.format, command.OutOrStdout(), report.Options{
				Version: version.Get().Version, Quiet: f.quiet, WarningsAsErrors: f.strict,
			})
			if err != nil {
				return &exit{exitUnread, err}
			}
			if _, chosen := os.LookupEnv("GOGC"); !chosen {
				debug.SetGCPercent(400) // the process is short, and a third of its time would go into collecting
			}
			check := f.checkFiles
			if f.live {
				check = f.checkCluster
			}
			summary, unread := check(command, arguments, write.Object)
			if err := write.End(summary, unread); err != nil {
				unread = errors.Join(unread, err)
			}
			switch {
			case unread != nil:
				return &exit{exitUnread, fmt.Errorf("vet: %w", unread)}
			case summary.Errors > 0, f.strict && summary.Warnings > 0:
				return &exit{exitFindings, nil}
			}
			return nil
		},
	}
	f.declare(command, o)
	complete(command, "output", report.Text, report.JSON, report.SARIF, report.JUnit)
	completeBy(command, "disable", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var ids []string
		for _, c := range vet.Checks() {
			ids = append(ids, c.ID+"\t"+c.Text)
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	})
	return command
}

func (f *vetFlags) declare(command *cobra.Command, o Options) {
	f.inputFlags.declare(command, "check", o)
	set := command.Flags()
	set.StringVarP(&f.format, "output", "o", f.format, "Output format. One of: text, json, sarif, junit.")
	set.StringSliceVar(&f.disable, "disable", nil, "Rules not to report, by id or word, such as FL1502 or duplicate-object. "+vet.Pages+" lists them.")
	set.BoolVarP(&f.quiet, "quiet", "q", f.quiet, "Print no warnings, unless they count as errors, and no summary.")
	set.BoolVar(&f.strict, "warnings-as-errors", f.strict, "Exit with 1 when there are warnings only.")
}

func (f *vetFlags) checkFiles(command *cobra.Command, arguments []string, found func(vet.Object) error) (vet.Summary, error) {
	disabled, err := vet.Disabled(f.disable)
	if err != nil {
		return vet.Summary{}, err
	}
	skipped := 0
	options := f.options(command, &skipped)
	check := vet.New(vet.Options{Disabled: disabled, AllowEmpty: f.empty, Program: f.program})
	summary, err := check.Run(command.Context(), func(visit files.Visit) error { return files.Walk(arguments, options, visit) }, found)
	summary.Skipped = skipped
	if err == nil {
		err = f.emptyError(arguments, summary.Documents, skipped)
	}
	return summary, err
}
