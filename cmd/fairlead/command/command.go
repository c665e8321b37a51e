// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// Options of the commands. No flag sets any of them.
type Options struct {
	// Output takes what a command returns. Defaults to the standard output.
	Output io.Writer
	// Logs takes the log, and the error that a command ends with. Defaults to the standard error.
	Logs io.Writer
	// Dial connects to addresses outside the cluster, after every check. Defaults to the network.
	Dial func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
	// Reconciles gets a line of JSON whenever a replica begins or ends to lead, or to reconcile an
	// object. Defaults to nil: none is written.
	Reconciles io.Writer
	// Clock is the time that certificates are checked at. Defaults to the real one.
	Clock clock.WithTicker
	// Silence is how long nothing may arrive from the API server on a watch, and half of it in response to another request. Defaults to
	// 150 seconds: the API server sends a bookmark each minute, and ends a request after one.
	Silence time.Duration
	// Metrics takes the operator's metrics. Defaults to the registry of controller-runtime, which the
	// metrics server serves, and in which a process can register one operator only.
	Metrics prometheus.Registerer
	// Program is how the user calls this binary. Defaults to fairlead, or kubectl fairlead where it
	// was started as a plugin of kubectl.
	Program string
}

func (o Options) withDefaults() Options {
	if o.Output == nil {
		o.Output = os.Stdout
	}
	if o.Logs == nil {
		o.Logs = os.Stderr
	}
	if o.Program == "" {
		o.Program = program(os.Args[0])
	}
	return o
}

// Execute runs a command line, without the program's name, and returns the exit code. An error is
// one line on Logs.
func Execute(args []string, o Options) int {
	o = o.withDefaults()
	root := rootCommand(o)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		if line := text.WithoutCredentials(text.OneLine(err.Error())); line != "" {
			_, _ = fmt.Fprintln(o.Logs, o.Program+":", line)
		}
		if coded := (*exit)(nil); errors.As(err, &coded) {
			return coded.code
		}
		return 1
	}
	return 0
}

// rootCommand returns the command of which all others are parts.
func rootCommand(o Options) *cobra.Command {
	root := &cobra.Command{
		Use:           "fairlead",
		Version:       version.Get().Version,
		Short:         "Shows and controls external services, restarts and chaos runs in a Kubernetes cluster.",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: o.Program},
		SilenceUsage:  true,
		SilenceErrors: true,
		// With these two, a word that is no command is refused in one line.
		Args: known(o),
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },

		DisableFlagsInUseLine: true,
	}
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error { // of each command that has no other
		return &exit{exitUnread, fmt.Errorf("%w; `%s --help` lists the flags", err, command.CommandPath())}
	})
	root.SetVersionTemplate(version.Get().String() + "\n")
	root.SetOut(o.Output)
	root.SetErr(o.Logs)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}", 1))
	cobra.EnableCommandSorting = false // those of a group are in the order of their use
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Look", []*cobra.Command{statusCommand(o), whyCommand(o), whatIfCommand(o), uiCommand(o)}},
		{"Act", requestCommands(o)},
		{"Check", []*cobra.Command{checkCommand(o), vetCommand(o), Convert(o)}},
		{"Move", []*cobra.Command{migrateCommand(o), publishCommand(o)}},
		{"Run", append([]*cobra.Command{Manager(o)}, electing(o)...)},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, command := range group.commands {
			command.GroupID = group.title
			root.AddCommand(command)
		}
	}
	root.AddCommand(optionsCommand(), versionCommand())
	return root
}

// known refuses a word that is no command, and names the nearest ones.
func known(o Options) cobra.PositionalArgs {
	return func(root *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		root.SuggestionsMinimumDistance = 2
		text := fmt.Sprintf("unknown command %q", args[0])
		if near := root.SuggestionsFor(args[0]); len(near) > 0 {
			return &exit{exitUnread, fmt.Errorf("%s; did you mean %q?", text, strings.Join(near, `" or "`))}
		}
		return &exit{exitUnread, fmt.Errorf("%s; `%s --help` lists the commands", text, o.Program)}
	}
}

// noArgs refuses arguments.
func noArgs(command *cobra.Command, args []string) error {
	if err := cobra.NoArgs(command, args); err != nil {
		return &exit{exitUnread, err}
	}
	return nil
}

// exit is an error of a command whose exit codes mean something. Without a cause it is a code alone,
// about which nothing is to be said.
type exit struct {
	code int
	error
}

func (e *exit) Error() string {
	if e.error == nil {
		return ""
	}
	return e.error.Error()
}

func (e *exit) Unwrap() error { return e.error }

// program returns what to call the binary that runs as a path.
func program(path string) string {
	if strings.TrimSuffix(filepath.Base(path), ".exe") == "kubectl-fairlead" {
		return "kubectl fairlead"
	}
	return "fairlead"
}
