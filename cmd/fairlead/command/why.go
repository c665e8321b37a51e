// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// What --output of the commands that inspect may be.
const (
	inspectText = "text"
	inspectJSON = "json"
	inspectYAML = "yaml"
)

// inspectFlags are those of the commands that inspect.
type inspectFlags struct {
	clusterFlags
	outputFlags
	timeout           time.Duration
	operatorNamespace string
}

// newInspectFlags returns flags with these formats, the first of which is the default.
func newInspectFlags(formats ...string) inspectFlags {
	return inspectFlags{outputFlags: newOutputFlags(formats...), timeout: time.Minute}
}

// whyFlags are those of the command.
type whyFlags struct {
	inspectFlags
	allNamespaces bool
}

func whyCommand(o Options) *cobra.Command {
	f := whyFlags{inspectFlags: newInspectFlags(inspectText, inspectJSON, inspectYAML)}
	command := &cobra.Command{
		Use:   "why TYPE/NAME",
		Short: "Explain the state of an object, or what restarts a workload.",
		Long: `Explain the state of an object: what changed and when, what it waits for and until when, what happens then,
what to do, and which request overrides it.

TYPE is one of:
  ` + strings.Join(inspect.ExplainedNames(), "\n  ") + `

For an ExternalService, lists each address with its last check and why it receives no traffic. For a pending
restart, lists what blocks it. For a Secret or ConfigMap, lists the workloads that read it, what restarts each
of them and what that waits for. For a Pod, lists what it reads that is newer than the pod. No values are read.

The command reads each type that it needs once, with your permissions, and writes nothing. It reports what you
cannot read, with the permission you need. If no replica of the operator leads, it says so first.

Exit code 0: the object is explained. 2: the object or a related one cannot be read, or the command line is wrong.`,
		Example: strings.ReplaceAll(`  fairlead why rebootpolicy/payments -n shop
  fairlead why externalservice billing-db -n shop
  fairlead why secret/db-login -A
  fairlead why pod/web-5d4f8c7b9-x2x7k
  fairlead why deployment/api -o json`, "fairlead why", o.Program+" why"),
		RunE: unread(func(command *cobra.Command, args []string) error {
			if args = withSlash(args); len(args) != 1 {
				return fmt.Errorf("name one object as TYPE/NAME or TYPE NAME; `%s why --help` has examples", o.Program)
			}
			return f.why(command.Context(), args[0], command.OutOrStdout())
		}),
	}
	command.ValidArgsFunction = f.objects(1, inspect.ExplainedNames())
	f.add(command, o)
	addOperatorNamespace(command, &f.operatorNamespace)
	command.Flags().BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "Explain the objects with this name in all namespaces.")
	return command
}

// unread has a command end with the exit code for what could not be read, unless its error has another one.
func unread(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		err := run(command, args)
		if coded := (*exit)(nil); err == nil || errors.As(err, &coded) {
			return err
		}
		return &exit{exitUnread, fmt.Errorf("%s: %w", command.Name(), err)}
	}
}

// add gives a command the flags.
func (f *inspectFlags) add(command *cobra.Command, o Options) {
	f.addCluster(command, o)
	f.addOutput(command)
	command.Flags().DurationVar(&f.timeout, "timeout", f.timeout, "How long the command may take.")
}

// why explains one object, or with --all-namespaces those that have its name.
func (f *whyFlags) why(parent context.Context, argument string, to io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	reader, namespace, err := f.connect("why")
	if err != nil {
		return err
	}
	key, err := inspect.ParseExplained(argument, namespace)
	if err != nil {
		return err
	}
	ctx, stop := f.bounded(parent)
	defer stop()
	keys := []inspect.Key{key}
	if f.allNamespaces && key.Namespace != "" {
		if keys, err = inspect.Everywhere(ctx, reader, key); err != nil {
			return err
		}
	}
	leaders := inspect.ReadLeaders(ctx, reader, f.operatorNamespace, clock.RealClock{})
	var all []inspect.Explanation
	for _, key := range keys {
		graph, object, err := inspect.ReadWith(ctx, reader, key)
		if err != nil {
			return err
		}
		graph.SetLeaders(leaders)
		all = append(all, graph.Explain(object))
	}
	if err := f.explain(all, to); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(x inspect.Explanation) bool { return inspect.HasErrors(x.Unread) }) {
		return &exit{exitUnread, nil}
	}
	return nil
}

// explain writes explanations: a list of them with --all-namespaces.
func (f *whyFlags) explain(all []inspect.Explanation, to io.Writer) error {
	switch {
	case f.format == inspectText:
		return printable(to, func(to io.Writer) (err error) {
			for i, x := range all {
				if i > 0 {
					_, _ = fmt.Fprintln(to) // into memory
				}
				err = errors.Join(err, x.WriteText(to, time.Now()))
			}
			return err
		})
	case f.allNamespaces:
		return f.write(to, map[string]any{"items": all})
	}
	return f.write(to, all[0])
}

// check refuses flags that mean nothing.
func (f *inspectFlags) check() error {
	if f.timeout <= 0 {
		return fmt.Errorf("--timeout %s: must be greater than 0", f.timeout)
	}
	return f.checkOutput()
}

// bounded ends with a signal, or when the timeout is over.
func (f *inspectFlags) bounded(parent context.Context) (context.Context, func()) {
	ctx, stop := signal.NotifyContext(parent, syscall.SIGINT, syscall.SIGTERM)
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("timed out after %s; use a longer --timeout", f.timeout))
	return ctx, func() { cancel(); stop() }
}
