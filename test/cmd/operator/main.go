// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command operator is fairlead, with its flags and all of its checks, whose connections to the
// outside end at the servers of test/outside on this host. It never dials any other address.
//
// Where FAIRLEAD_RECONCILE_LOG names a file, it appends a line of JSON to it whenever it begins or ends
// to lead, or to reconcile an object: {"replica","event","kind","namespace","name","at"}, where the
// event is lead, unlead, begin or end. Several replicas may append to one file.
package main

import (
	"fmt"
	"os"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/command"
	"github.com/fairlead-dev/fairlead/test/outside"
)

func main() {
	options := command.Options{Dial: outside.Dial}
	if path := os.Getenv("FAIRLEAD_RECONCILE_LOG"); path != "" {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // whoever runs a test chooses
		if err != nil {
			fmt.Fprintln(os.Stderr, "operator:", err)
			os.Exit(1)
		}
		// It is written without a buffer, and the kernel closes it.
		options.Reconciles = file
	}
	os.Exit(command.Execute(os.Args[1:], options))
}
