// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// inspectWide is an additional value of status's --output.
const inspectWide = "wide"

var statusFormats = []string{inspectText, inspectWide, inspectJSON, inspectYAML}

// statusFlags are those of the command.
type statusFlags struct {
	inspectFlags
	allNamespaces bool
	selector      string
	watch         bool
}

func statusCommand(o Options) *cobra.Command {
	f := statusFlags{inspectFlags: inspectFlags{format: inspectText, timeout: time.Minute}}
	command := &cobra.Command{
		Use:   "status [KIND/NAME...]",
		Short: "Show the objects of Fairlead and their health as a tree.",
		Long: `Show the objects of Fairlead and their health as a tree: below each ExternalService what depends on it,
below each RebootPolicy and ChaosPod the workloads that it acts on. A ClusterRebootPolicy is
shown in the namespaces that have its policy or refuse it, with how many these are. With KIND/NAME, show the trees of these
objects; a workload shows what it needs and what acts on it.

An object is Failed, Unknown, Degraded, Waiting, Progressing, Suspended or Healthy, and the reason is beside
it; why explains it. Unknown is also what no operator has observed, and what could not be read.

Each kind is listed once, with the rights of this user, and nothing is written. What could not be read is
named. With --watch, each kind is watched as well, and a line with its time tells each change.

If no replica of the operator leads, status says so first, and objects are Unknown.

The exit code is 0 where nothing that is shown has failed or --watch was interrupted, 1 where something has or no replica
leads, and 2 where something could not be read or the command line is wrong.`,
		Example: strings.ReplaceAll(`  fairlead status -n shop
  fairlead status -A -o wide
  fairlead status externalservice/billing-db deployment/api -n shop
  fairlead status -l team=payments -o json`, "fairlead status", o.Program+" status"),
		RunE: unread(func(command *cobra.Command, args []string) error {
			return f.run(command.Context(), args, command.OutOrStdout())
		}),
	}
	command.ValidArgsFunction = f.objects(math.MaxInt, inspect.KindNames())
	f.add(command, o)
	addOperatorNamespace(command, &f.operatorNamespace)
	set := command.Flags()
	set.Lookup("output").Usage = "Output format. One of: " + strings.Join(statusFormats, ", ") + "."
	set.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "Show all namespaces.")
	set.StringVarP(&f.selector, "selector", "l", "", "Labels that an ExternalService, RebootPolicy or ChaosPod must have to be shown with its tree, such as team=payments.")
	set.BoolVarP(&f.watch, "watch", "w", false, "After the tree, show each change, until it is interrupted.")
	complete(command, "output", statusFormats...)
	return command
}

// run shows what the flags select.
func (f *statusFlags) run(parent context.Context, arguments []string, to io.Writer) error {
	if err := f.check(statusFormats...); err != nil {
		return err
	}
	selector, err := labels.Parse(f.selector)
	switch {
	case err != nil:
		return fmt.Errorf("--selector %q: %w", f.selector, err)
	case f.watch && f.format != inspectText && f.format != inspectWide:
		return fmt.Errorf("--watch shows lines, and not %s: leave out -o, or --watch", f.format)
	case len(arguments) > 0 && (f.allNamespaces || f.selector != ""):
		return errors.New("name objects, or select them with --all-namespaces and --selector, not both")
	}
	reader, namespace, err := f.connect("status")
	if err != nil {
		return err
	}
	var keys []inspect.Key
	for _, argument := range arguments {
		key, err := inspect.ParseKey(argument, namespace)
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	if f.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	choose := func(graph *inspect.Graph) (*inspect.Status, error) {
		if len(keys) > 0 {
			return graph.StatusOf(keys)
		}
		return graph.Status(selector), nil
	}
	if f.watch {
		return f.follow(parent, reader, namespace, choose, to)
	}
	ctx, stop := f.bounded(parent)
	defer stop()
	all, err := inspect.Read(ctx, reader, namespace)
	if err != nil {
		return err
	}
	graph := inspect.New(all)
	graph.SetLeaders(inspect.ReadLeaders(ctx, reader, f.operatorNamespace, clock.RealClock{}))
	graph.Expect(time.Now())
	status, err := choose(graph)
	if err != nil {
		return err
	}
	if err := f.write(status, to); err != nil {
		return err
	}
	switch {
	case inspect.HasErrors(status.Unread):
		return &exit{exitUnread, nil}
	case status.Worst() == inspect.Failed, len(inspect.Lacking(status.Leaders)) > 0:
		return &exit{exitFindings, nil}
	}
	return nil
}

// write writes what was found.
func (f *statusFlags) write(status *inspect.Status, to io.Writer) (err error) {
	switch f.format {
	case inspectText, inspectWide:
		if len(status.Trees) == 0 && !inspect.HasErrors(status.Unread) {
			_, err = fmt.Fprintln(to, "There is no object of Fairlead here.")
		}
		if err == nil {
			err = printable(to, func(to io.Writer) error { return status.WriteText(to, f.allNamespaces, f.format == inspectWide) })
		}
	default:
		err = write(to, f.format, status)
	}
	return err
}
