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

// inspectWide and inspectName are additional values of status's --output.
const (
	inspectWide = "wide"
	inspectName = "name"
)

// statusFlags are those of the command.
type statusFlags struct {
	inspectFlags
	allNamespaces bool
	selector      string
	watch         bool
}

func statusCommand(o Options) *cobra.Command {
	f := statusFlags{inspectFlags: newInspectFlags(inspectText, inspectWide, inspectName, inspectJSON, inspectYAML)}
	command := &cobra.Command{
		Use:   "status [TYPE/NAME...]",
		Short: "Show the resources of Fairlead and their health as a tree.",
		Long: `Show the resources of Fairlead and their health as a tree. Below each ExternalService: what depends on it. Below each
RebootPolicy and ChaosPod: the workloads that it acts on. A ClusterRebootPolicy shows the namespaces that have its
policy or reject it, with their number. With TYPE/NAME, show the trees of these objects. A workload shows what it
needs and what acts on it.

An object is Failed, Unknown, Degraded, Waiting, Progressing, Suspended or Healthy, with the reason. The command why
explains it. An object is also Unknown if no operator has observed it, or if you cannot read it.

The command lists each kind once, with your permissions, and writes nothing. It reports what you cannot read. With
--watch, it also watches each kind, and prints a line with the time for each change.

If no replica of the operator leads, status says so first, and objects are Unknown.

Exit code 0: nothing that is shown failed, or you interrupted --watch. 1: something failed, or no replica leads.
2: something cannot be read, or the command line is wrong.`,
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
	set.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "Show all namespaces.")
	set.StringVarP(&f.selector, "selector", "l", "", "Show only the trees of objects with these labels, such as team=payments.")
	set.BoolVarP(&f.watch, "watch", "w", false, "After the tree, show each change, until you interrupt the command.")
	return command
}

// run shows what the flags select.
func (f *statusFlags) run(parent context.Context, arguments []string, to io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	selector, err := labels.Parse(f.selector)
	switch {
	case err != nil:
		return fmt.Errorf("--selector %q: %w", f.selector, err)
	case f.watch && f.format != inspectText && f.format != inspectWide:
		return fmt.Errorf("--watch prints lines, not %s: leave out -o or --watch", f.format)
	case len(arguments) > 0 && (f.allNamespaces || f.selector != ""):
		return errors.New("name objects, or select them with --all-namespaces and --selector, not both")
	}
	reader, namespace, err := f.connect("status")
	if err != nil {
		return err
	}
	var keys []inspect.Key
	for _, argument := range eachWithSlash(arguments) {
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
	if err := f.show(status, namespace, to); err != nil {
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

// show writes what was found in a namespace, or in all for an empty one.
func (f *statusFlags) show(status *inspect.Status, namespace string, to io.Writer) (err error) {
	switch f.format {
	case inspectText, inspectWide:
		if len(status.Trees) == 0 && !inspect.HasErrors(status.Unread) {
			where := fmt.Sprintf("namespace %q", namespace)
			if namespace == metav1.NamespaceAll {
				where = "any namespace"
			}
			_, err = fmt.Fprintf(to, "No Fairlead resources found in %s.\n", where)
		}
		if err == nil {
			err = printable(to, func(to io.Writer) error { return status.WriteText(to, f.allNamespaces, f.format == inspectWide) })
		}
	case inspectName:
		for i := range status.Trees {
			if b := &status.Trees[i]; err == nil {
				_, err = fmt.Fprintf(to, "%s/%s\n", inspect.NameOf(b.Kind), b.Name)
			}
		}
	default:
		err = f.write(to, status)
	}
	return err
}
