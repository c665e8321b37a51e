// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Fairlead is a Kubernetes operator; `fairlead manager` runs it.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// execute runs a command line and answers the exit code. An error is one line on stderr.
func execute(args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:           "fairlead",
		Short:         "A Kubernetes operator for external services, restarts and chaos.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(managerCommand(stderr), versionCommand())
	if err := root.Execute(); err != nil {
		_, _ = fmt.Fprintln(stderr, "fairlead:", oneLine(err))
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
