// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/calendar"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// inspectICS is iCalendar.
const inspectICS = "ics"

var calendarFormats = []string{inspectText, inspectICS, inspectJSON, inspectYAML}

// maxDays is how far ahead a calendar goes.
const maxDays = 366

// calendarFlags are those of the command.
type calendarFlags struct {
	inspectFlags
	allNamespaces     bool
	days              int
	operatorNamespace string
}

func calendarCommand(o Options) *cobra.Command {
	f := calendarFlags{inspectFlags: inspectFlags{format: inspectText, timeout: time.Minute}, days: 30}
	command := &cobra.Command{
		Use:   "calendar",
		Short: "List windows, blackouts, scheduled restarts and runs of chaos that are to come.",
		Long: `List what is to come: windows and blackouts of RebootPolicies and ChaosPods, blackouts of the whole cluster,
restarts by Schedule triggers and runs of ChaosPods, each when windows and blackouts allow it. What is suspended,
halted or a dry run is listed as such. Blackouts in the configuration of the operator are among those of the cluster
where this user may read its Deployment and ConfigMap.

With -o ics it is a calendar to subscribe to: write it to where a web server has it, each hour. Its times are in
UTC, and an event keeps its UID.

Each kind is listed once, with the rights of this user, and nothing is written. What could not be read is named.

The exit code is 0 where all was read, and 2 where something could not be or the command line is wrong.`,
		Example: strings.ReplaceAll(`  fairlead calendar -n shop
  fairlead calendar -A --days=7 -o json
  fairlead calendar -A -o ics > fairlead.ics`, "fairlead calendar", o.Program+" calendar"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &exit{exitUnread, fmt.Errorf("calendar: takes no arguments, not %q: select a namespace with -n", args[0])}
			}
			return nil
		},
		RunE:              unread(func(command *cobra.Command, _ []string) error { return f.run(command) }),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.add(command, o)
	set := command.Flags()
	set.Lookup("output").Usage = "Output format. One of: " + strings.Join(calendarFormats, ", ") + "."
	set.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "List all namespaces.")
	set.IntVar(&f.days, "days", f.days, "How many days ahead, at most 366.")
	addOperatorNamespace(command, &f.operatorNamespace)
	complete(command, "output", calendarFormats...)
	return command
}

func (f *calendarFlags) run(command *cobra.Command) error {
	switch err := f.check(calendarFormats...); {
	case err != nil:
		return err
	case f.days < 1 || f.days > maxDays:
		return fmt.Errorf("--days %d: must be from 1 to %d", f.days, maxDays)
	}
	reader, namespace, err := f.connect("calendar")
	if err != nil {
		return err
	}
	if f.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	ctx, stop := f.bounded(command.Context())
	defer stop()
	all, err := inspect.ReadOf(ctx, reader, namespace, inspect.RebootPolicy, inspect.ChaosPod)
	if err != nil {
		return err
	}
	freeze := inspect.ReadBlackouts(ctx, reader, f.operatorNamespace)
	all.Unread = append(all.Unread, freeze.Unread...)
	now := time.Now()
	found, to := calendar.Of(all, freeze, now, now.AddDate(0, 0, f.days)), command.OutOrStdout()
	switch f.format {
	case inspectText:
		if len(found.Events) == 0 {
			_, err = fmt.Fprintf(to, "Nothing is to come within %d days.\n", f.days)
		}
		if err == nil {
			err = printable(to, found.WriteText)
		}
	case inspectICS:
		err = found.WriteICS(to, now)
	default:
		err = write(to, f.format, found)
	}
	if err == nil && inspect.HasErrors(found.Unread) {
		return &exit{exitUnread, nil}
	}
	return err
}

// addOperatorNamespace gives a command the flag that names the operator's namespace.
func addOperatorNamespace(command *cobra.Command, to *string) {
	command.Flags().StringVar(to, "operator-namespace", operatorNamespace, "Namespace of the operator, where the blackouts of the cluster are.")
}

// operatorNamespace is that of the manifests.
const operatorNamespace = "fairlead-system"
