// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Fairlead is a Kubernetes operator; `fairlead manager` runs it.
package main

import (
	"os"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/command"
)

func main() { os.Exit(command.Execute(os.Args[1:], command.Options{})) }
