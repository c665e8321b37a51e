// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command versions writes the charts and the program that the test of installations needs, for `make e2e`: a node
// has no network to build them with.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/fairlead-dev/fairlead/test/install"
)

func main() {
	root := flag.String("root", "../..", "The checkout.")
	out := flag.String("out", "", "Folder that is written to; what is in it is removed.")
	from := flag.String("from", install.FirstChart, "Commit of the previous version.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	note, err := "", error(nil)
	if *out == "" {
		err = fmt.Errorf("--out is required")
	} else {
		note, err = install.WriteVersions(ctx, *root, *out, *from)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		os.Exit(1)
	}
	if note != "" {
		fmt.Fprintln(os.Stderr, note)
	}
}
