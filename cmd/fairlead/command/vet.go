// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
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
	clusterFlags
	format                  string
	files, exclude, disable []string
	recursive, empty        bool
	program                 string
	quiet, strict           bool
	cluster, all            bool
}

func vetCommand(o Options) *cobra.Command {
	f := vetFlags{format: report.Text, all: true, recursive: true, program: o.Program}
	command := &cobra.Command{
		Use:   "vet FILE|FOLDER|-... | vet --cluster",
		Short: "Check manifests of Fairlead's kinds without a cluster, or the objects of one.",
		Long: `Check manifests of Fairlead's kinds without a cluster, by the rules that a cluster would apply: the
schema and CEL of the definitions, the defaults and rules of the webhooks, and the conversion to every
served version and back. Nothing is sent anywhere, and no file is changed.

Files, folders (every *.yaml, *.yml and *.json in them) and "-", the standard input, may hold several
documents, lists, and other kinds, which are skipped. So are patches that a kustomization.yaml names,
templates of a Helm chart, and documents that begin with the comment "# fairlead:ignore". An empty
standard input is an error, since the command in front of the pipe may have failed.

With --cluster the objects of a cluster are checked in the same way, and that each can be read at every
served version. The operator need not run. It takes the right to get and list Fairlead's kinds and to
get their definitions, and nothing is written.

The exit code is 0 where nothing is wrong, 1 where something is, and 2 where something could not be
read or the command line is wrong.`,
		Example: strings.ReplaceAll(`  fairlead vet deploy/
  helm template . | fairlead vet -
  kubectl kustomize overlays/production | fairlead vet -
  fairlead vet --warnings-as-errors -o sarif deploy/ > fairlead.sarif
  fairlead vet --disable=FL1502 --exclude=testdata .
  fairlead vet --cluster --context=production`, "fairlead vet", o.Program+" vet"),
		RunE: func(command *cobra.Command, arguments []string) error {
			arguments = append(arguments, f.files...)
			if err := f.complete(command, arguments); err != nil {
				return &exit{exitUnread, err}
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
			if f.cluster {
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
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &exit{exitUnread, fmt.Errorf("%w; `%s vet --help` lists the flags", err, o.Program)}
	})
	f.declare(command)
	complete(command, "output", report.Text, report.JSON, report.SARIF, report.JUnit)
	_ = command.RegisterFlagCompletionFunc("disable", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var ids []string
		for _, c := range vet.Checks() {
			ids = append(ids, c.ID+"\t"+c.Text)
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}) // the flag exists
	_ = command.RegisterFlagCompletionFunc("context", f.contexts) // and so does this one
	return command
}

func (f *vetFlags) declare(command *cobra.Command) {
	set := command.Flags()
	set.StringVarP(&f.format, "output", "o", f.format, "Output format. One of: text, json, sarif, junit.")
	set.StringSliceVarP(&f.files, "filename", "f", nil, "Files, folders or - to check, in addition to the arguments.")
	set.BoolVarP(&f.recursive, "recursive", "R", f.recursive, "Read folders with all folders below them.")
	set.StringSliceVar(&f.exclude, "exclude", nil, "Patterns of files and folders not to read, such as testdata or charts/**/*.yaml.")
	set.StringSliceVar(&f.disable, "disable", nil, "Rules not to report, by id or word, such as FL1502 or duplicate-object. "+vet.Pages+" lists them.")
	set.BoolVar(&f.empty, "allow-empty", f.empty, "Succeed when the input has no document.")
	set.BoolVarP(&f.quiet, "quiet", "q", f.quiet, "Print no warnings, unless they count as errors, and no summary.")
	set.BoolVar(&f.strict, "warnings-as-errors", f.strict, "Exit with 1 when there are warnings only.")
	set.BoolVar(&f.cluster, "cluster", f.cluster, "Check the objects of a cluster instead of files.")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster. Empty: KUBECONFIG, ~/.kube/config, or the pod's service account. With --cluster.")
	set.StringVar(&f.context, "context", "", "Context of the kubeconfig. Empty: the current one. With --cluster.")
	set.StringVarP(&f.namespace, "namespace", "n", "", "Namespace to check. Empty: all. With --cluster.")
	set.BoolVarP(&f.all, "all-namespaces", "A", f.all, "Check all namespaces, as without --namespace. With --cluster.")
}

// complete refuses what does not go together.
func (f *vetFlags) complete(command *cobra.Command, arguments []string) error {
	if f.cluster {
		if len(arguments) > 0 {
			return errors.New("vet: --cluster takes no files: check them in a run of their own")
		}
		if f.namespace != "" && f.all && command.Flags().Changed("all-namespaces") {
			return errors.New("vet: give --namespace or --all-namespaces, not both")
		}
		return nil
	}
	for _, name := range []string{"kubeconfig", "context", "namespace", "all-namespaces"} {
		if command.Flags().Changed(name) {
			return fmt.Errorf("vet: --%s goes with --cluster", name)
		}
	}
	if len(arguments) == 0 {
		return errors.New("vet: name a file, a folder, or - for the standard input, or give --cluster")
	}
	return nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func (f *vetFlags) checkFiles(command *cobra.Command, arguments []string, found func(vet.Object) error) (vet.Summary, error) {
	disabled, err := vet.Disabled(f.disable)
	if err != nil {
		return vet.Summary{}, err
	}
	skipped := 0
	options := files.Options{
		Stdin: command.InOrStdin(), Exclude: f.exclude, Shallow: !f.recursive, Skipped: func(string) { skipped++ },
	}
	check := vet.New(vet.Options{Disabled: disabled, AllowEmpty: f.empty, Program: f.program})
	summary, err := check.Run(command.Context(), func(visit files.Visit) error { return files.Walk(arguments, options, visit) }, found)
	summary.Skipped = skipped
	switch {
	case err != nil || summary.Documents > 0 || f.empty:
	case skipped == 0:
		err = errors.New("nothing was read: no file holds a document; give --allow-empty where that is no fault")
	case slices.ContainsFunc(arguments, isFolder): // a hook that names each file may name only such
		err = fmt.Errorf("nothing was read: all %d files are excluded, patches of a kustomization, or templates of a chart; "+
			"change --exclude, render charts with `helm template`, or give --allow-empty where that is no fault", skipped)
	}
	return summary, err
}
