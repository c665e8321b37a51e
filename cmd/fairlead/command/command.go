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

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
)

// Options of the commands. No flag sets any of them.
type Options struct {
	// Output takes what a command answers. The default is the standard output.
	Output io.Writer
	// Logs takes the log, and the error that a command ends with. The default is the standard error.
	Logs io.Writer
	// Dial connects to addresses outside the cluster, after every check. The default is the network.
	Dial func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
	// Reconciles gets a line of JSON whenever a replica begins or ends to lead, or to reconcile an
	// object. The default is nobody.
	Reconciles io.Writer
	// Clock tells the time by which certificates are judged. The default is the real one.
	Clock clock.WithTicker
	// Program is how the user calls this binary. The default is fairlead, or kubectl fairlead where it
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

// Execute runs a command line, without the program's name, and answers the exit code. An error is
// one line on Logs.
func Execute(args []string, o Options) int {
	o = o.withDefaults()
	root := &cobra.Command{
		Use:           "fairlead",
		Short:         "A Kubernetes operator for external services, restarts and chaos.",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: o.Program},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetArgs(args)
	root.SetOut(o.Output)
	root.SetErr(o.Logs)
	root.AddCommand(Manager(o), versionCommand())
	root.AddCommand(Elect(o))
	root.AddCommand(Convert(o))
	root.AddCommand(vetCommand())
	if err := root.Execute(); err != nil {
		if text := oneLine(err); text != "" {
			_, _ = fmt.Fprintln(o.Logs, "fairlead:", text)
		}
		if coded := (*exit)(nil); errors.As(err, &coded) {
			return coded.code
		}
		return 1
	}
	return 0
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

// program answers what to call the binary that runs as a path.
func program(path string) string {
	if strings.TrimSuffix(filepath.Base(path), ".exe") == "kubectl-fairlead" {
		return "kubectl fairlead"
	}
	return "fairlead"
}

// oneLine joins an error of several lines, such as one about several objects, so that whoever greps
// a log or reads a termination message finds all of it.
func oneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}
