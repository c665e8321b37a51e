// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/report"
)

// What --output of report may be besides.
const (
	inspectCSV  = "csv"
	inspectHTML = "html"
)

var reportFormats = []string{inspectText, inspectJSON, inspectYAML, inspectCSV, inspectHTML}

// reportKinds are those that have records, and those that these are about.
var reportKinds = slices.DeleteFunc(inspect.Kinds(), func(kind string) bool { return kind == inspect.ClusterRebootPolicy })

// reportFlags are those of the command.
type reportFlags struct {
	inspectFlags
	allNamespaces bool
	selector      string
	since         string
	failOn        []string
}

func reportCommand(o Options) *cobra.Command {
	f := reportFlags{inspectFlags: inspectFlags{format: inspectText, timeout: time.Minute}, since: "30d", failOn: []string{"failed"}}
	command := &cobra.Command{
		Use:   "report",
		Short: "Report when each workload last survived a lost pod, an absent dependency and a restart.",
		Long: `Report when each workload last survived a lost pod, an absent dependency and a restart, by the records of
ChaosPods, ExternalServices and RebootPolicies: which object, which record, when, how it ended, and how many requests of
verification.probes failed meanwhile. A workload depends on the ExternalServices that its annotation declares, and on
those that a RebootPolicy which restarts it names.

A verdict is Survived, Stale where that was longer ago than --since, Never where no record shows it, Failed where a
failure is later, or Unknown where the records could not be read. Failures come first. Of all but Survived the report
tells what would prove it. A dry run, a run that killed nothing, a fault that took away a part of the addresses and a
record of the future prove nothing.

Each kind is listed once, with the rights of this user, and nothing is written. What could not be read is named.
With -o html it is one page without scripts, for a screen or for print.

The exit code is 0 where no verdict of --fail-on is among them, 1 where one is, and 2 where something could not be
read or the command line is wrong.`,
		Example: strings.ReplaceAll(`  fairlead report -n shop
  fairlead report -A --since=90d -o html > report.html
  fairlead report -n shop -o csv --fail-on=failed,never,stale`, "fairlead report", o.Program+" report"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &exit{exitUnread, fmt.Errorf("report: takes no arguments, not %q: select a namespace with -n, and workloads with -l", args[0])}
			}
			return nil
		},
		RunE: unread(func(command *cobra.Command, _ []string) error {
			return f.run(command.Context(), command.OutOrStdout())
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.add(command, o)
	set := command.Flags()
	set.Lookup("output").Usage = "Output format. One of: " + strings.Join(reportFormats, ", ") + "."
	set.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "Report on all namespaces.")
	set.StringVarP(&f.selector, "selector", "l", "", "Labels that a workload must have, such as team=payments.")
	set.StringVar(&f.since, "since", f.since, "How long a proof counts, in days or as a duration, such as 30d or 12h.")
	set.StringSliceVar(&f.failOn, "fail-on", f.failOn,
		"Verdicts for which the exit code is 1. Of: "+strings.Join(verdictNames(), ", ")+". Empty: none.")
	complete(command, "output", reportFormats...)
	complete(command, "fail-on", verdictNames()...)
	return command
}

// verdictNames are the verdicts that --fail-on takes, as a user writes them.
func verdictNames() (names []string) {
	for _, v := range report.Verdicts {
		if v != report.Survived {
			names = append(names, strings.ToLower(string(v)))
		}
	}
	return names
}

// maxSince is how many days a proof may count.
const maxSince = 3660

// sinceOf reads --since.
func sinceOf(text string) (time.Duration, error) {
	days, isDays := strings.CutSuffix(text, "d")
	n, err := strconv.Atoi(days)
	span := time.Duration(n) * 24 * time.Hour
	if !isDays {
		span, err = time.ParseDuration(text)
	}
	if err != nil || span <= 0 || n > maxSince || span > maxSince*24*time.Hour {
		return 0, fmt.Errorf("--since %q: must be from 1d to %dd, or a duration such as 12h", text, maxSince)
	}
	return span, nil
}

func (f *reportFlags) run(parent context.Context, to io.Writer) error {
	if err := f.check(reportFormats...); err != nil {
		return err
	}
	for _, name := range f.failOn {
		if !slices.Contains(verdictNames(), name) {
			return fmt.Errorf("--fail-on %q: must be of %s", name, strings.Join(verdictNames(), ", "))
		}
	}
	since, err := sinceOf(f.since)
	if err != nil {
		return err
	}
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return fmt.Errorf("--selector %q: %w", f.selector, err)
	}
	reader, namespace, err := f.connect("report")
	if err != nil {
		return err
	}
	if f.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	ctx, stop := f.bounded(parent)
	defer stop()
	all, err := inspect.ReadOf(ctx, reader, namespace, reportKinds...)
	if err != nil {
		return err
	}
	found := report.Of(inspect.New(all), selector, since, time.Now())
	switch f.format {
	case inspectText:
		err = found.WriteText(to, f.allNamespaces)
	case inspectCSV:
		err = found.WriteCSV(to)
	case inspectHTML:
		err = found.WriteHTML(to)
	default:
		err = write(to, f.format, found)
	}
	switch {
	case err != nil:
		return err
	case inspect.HasErrors(found.Unread):
		return &exit{exitUnread, nil}
	}
	for _, v := range report.Verdicts {
		if slices.Contains(f.failOn, strings.ToLower(string(v))) && found.Count(v) > 0 {
			return &exit{exitFindings, nil}
		}
	}
	return nil
}
