// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command operator is fairlead, with its flags and all of its checks, whose connections to the
// outside end at the servers of test/outside on this host. It never dials any other address.
package main

import (
	"os"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/command"
	"github.com/fairlead-dev/fairlead/test/outside"
)

func main() { os.Exit(command.Execute(os.Args[1:], command.Options{Dial: outside.Dial})) }
