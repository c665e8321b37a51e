// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
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
	format            string
	timeout           time.Duration
	operatorNamespace string
}

func whyCommand(o Options) *cobra.Command {
	f := inspectFlags{format: inspectText, timeout: time.Minute}
	command := &cobra.Command{
		Use:   "why KIND/NAME",
		Short: "Explain why an object is as it is.",
		Long: `Explain why an object is as it is: what has changed and when, what it waits for and until when, what
happens then, what to do, and which request would override it. KIND is externalservice, rebootpolicy,
clusterrebootpolicy, chaospod, deployment, statefulset, daemonset or rollout. Of an ExternalService it tells of each address by which check
it is judged, since when, and why it takes no traffic. Of what it waits for, the reasons follow.

Each kind that may be named is listed once in the namespace, with the rights of this user, and nothing is
written. What could not be read is named.

The exit code is 0 where the object was explained, and 2 where it, or something beside it, could not be
read, or the command line is wrong.`,
		Example: strings.ReplaceAll(`  fairlead why rebootpolicy/payments -n shop
  fairlead why externalservice/billing-db -n shop
  fairlead why deployment/api -o json`, "fairlead why", o.Program+" why"),
		Args: func(command *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &exit{exitUnread, fmt.Errorf("why: name one object as KIND/NAME; `%s why --help` has examples", o.Program)}
			}
			return nil
		},
		RunE: unread(func(command *cobra.Command, args []string) error {
			return f.why(command.Context(), args[0], command.OutOrStdout())
		}),
	}
	command.ValidArgsFunction = f.objects(1, inspect.KindNames())
	f.add(command, o)
	addOperatorNamespace(command, &f.operatorNamespace)
	complete(command, "output", inspectText, inspectJSON, inspectYAML)
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
	set := command.Flags()
	set.StringVarP(&f.format, "output", "o", f.format, "Output format. One of: text, json, yaml.")
	set.DurationVar(&f.timeout, "timeout", f.timeout, "How long the API server may take.")
}

// addCluster gives a command the flags that name a cluster and a namespace.
func (f *clusterFlags) addCluster(command *cobra.Command, o Options) {
	command.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return &exit{exitUnread, fmt.Errorf("%w; `%s %s --help` lists the flags", err, o.Program, command.Name())}
	})
	set := command.Flags()
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster. Empty: KUBECONFIG, ~/.kube/config, or the pod's service account.")
	set.StringVar(&f.context, "context", "", "Context of the kubeconfig. Empty: the current one.")
	set.StringVarP(&f.namespace, "namespace", "n", "", "Namespace of the objects. Empty: that of the context.")
	set.StringVar(&f.as, "as", "", "User to impersonate, as of kubectl.")
	set.StringArrayVar(&f.asGroups, "as-group", nil, "Group to impersonate, with --as. May be repeated.")
	completeBy(command, "context", f.contexts)
	completeBy(command, "namespace", f.namespaces)
}

// connect returns a client of the cluster that the flags name, and the namespace. It sends nothing.
func (f *clusterFlags) connect(name string) (client.WithWatch, string, error) {
	api, found, err := f.config()
	if err != nil {
		return nil, "", err
	}
	api.UserAgent = "fairlead-" + name + "/" + version.Get().Version
	namespace := f.namespace
	if namespace == "" {
		if namespace, _, err = found.Namespace(); err != nil {
			return nil, "", fmt.Errorf("find the namespace: %w; give one with --namespace", err)
		}
	}
	reader, err := inspect.NewClient(api)
	if err != nil {
		return nil, "", fmt.Errorf("reach the cluster: %w", err)
	}
	return reader, namespace, nil
}

// why explains one object.
func (f *inspectFlags) why(parent context.Context, argument string, to io.Writer) error {
	if err := f.check(inspectText, inspectJSON, inspectYAML); err != nil {
		return err
	}
	reader, namespace, err := f.connect("why")
	if err != nil {
		return err
	}
	key, err := inspect.ParseKey(argument, namespace)
	if err != nil {
		return err
	}
	ctx, stop := f.bounded(parent)
	defer stop()
	graph, object, err := inspect.ReadWith(ctx, reader, key)
	if err != nil {
		return err
	}
	graph.SetLeaders(inspect.ReadLeaders(ctx, reader, f.operatorNamespace, clock.RealClock{}))
	x := graph.Explain(object)
	if f.format == inspectText {
		err = printable(to, func(to io.Writer) error { return x.WriteText(to, time.Now()) })
	} else {
		err = write(to, f.format, x)
	}
	if err == nil && inspect.HasErrors(x.Unread) {
		return &exit{exitUnread, nil}
	}
	return err
}

// check refuses flags that mean nothing.
func (f *inspectFlags) check(formats ...string) error {
	switch {
	case !slices.Contains(formats, f.format):
		return fmt.Errorf("--output %q: must be one of %s", f.format, strings.Join(formats, ", "))
	case f.timeout <= 0:
		return fmt.Errorf("--timeout %s: must be greater than 0", f.timeout)
	}
	return nil
}

// bounded ends with a signal, or when the timeout is over.
func (f *inspectFlags) bounded(parent context.Context) (context.Context, func()) {
	ctx, stop := signal.NotifyContext(parent, syscall.SIGINT, syscall.SIGTERM)
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("not done within %s: give it more with --timeout", f.timeout))
	return ctx, func() { cancel(); stop() }
}

// write writes a value as JSON or YAML.
func write(to io.Writer, format string, value any) error {
	if format == inspectYAML {
		raw, err := yaml.Marshal(value)
		if err == nil {
			_, err = to.Write(raw)
		}
		return err
	}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
