// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Options of the commands. No flag sets any of them.
type Options struct {
	// Output takes what a command answers. The default is the standard output.
	Output io.Writer
	// Logs takes the log, and the error that a command ends with. The default is the standard error.
	Logs io.Writer
	// Dial connects to addresses outside the cluster, after every check. The default is the network.
	Dial func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
}

func (o Options) withDefaults() Options {
	if o.Output == nil {
		o.Output = os.Stdout
	}
	if o.Logs == nil {
		o.Logs = os.Stderr
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
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(args)
	root.SetOut(o.Output)
	root.SetErr(o.Logs)
	root.AddCommand(Manager(o), versionCommand())
	if err := root.Execute(); err != nil {
		_, _ = fmt.Fprintln(o.Logs, "fairlead:", oneLine(err))
		return 1
	}
	return 0
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
