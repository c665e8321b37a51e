// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command reloaderload is `make bench-reloader`: it measures Fairlead beside stakater/Reloader under the load of Reloader's own scenarios,
// prints a table, and writes the figures as JSON. It exits 0 only if every aim is met.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/test/reloader/load"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx)
	stop()
	os.Exit(code)
}

func run(ctx context.Context) int {
	log.SetLogger(logr.Discard()) // of the administrator's client
	o := load.Options{Output: os.Stderr}
	flag.StringVar(&o.Root, "root", ".", "the checkout of Fairlead")
	flag.StringVar(&o.Checkout, "checkout", "", "a checkout of github.com/stakater/Reloader")
	out := flag.String("out", "", "write the figures to this file, as JSON")
	scenarios := flag.String("scenarios", "", "scenarios, with commas between; all by default")
	flag.IntVar(&o.Runs, "runs", 0, "how often each is measured on each side; 3 by default")
	flag.DurationVar(&o.Duration, "duration", 0, "how long a scenario makes changes; 15s by default")
	flag.Uint64Var(&o.Seed, "seed", 0, "seed of the changes; 1 by default")
	flag.StringVar(&o.Profiles, "profiles", "", "write profiles of the operator into this folder")
	flag.Func("replace", "a folder that stands for a module, as MODULE=FOLDER; may be given again", func(text string) error {
		o.Replace = append(o.Replace, strings.Fields(text)...)
		return nil
	})
	flag.Func("operator", "a further argument of the operator; may be given again", func(text string) error {
		o.Arguments = append(o.Arguments, text)
		return nil
	})
	flag.Parse()
	if o.Checkout == "" {
		fmt.Fprintln(os.Stderr, "reloaderload: --checkout is missing: git clone https://github.com/stakater/Reloader, and name that folder")
		return 2
	}
	if *scenarios != "" {
		o.Scenarios = strings.Split(*scenarios, ",")
	}
	measured, err := load.Run(ctx, o)
	report := load.Compare(measured)
	if written := write(report, *out); err == nil {
		err = written
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reloaderload:", err)
		return 1
	}
	if !report.IsMet() {
		return 1
	}
	return 0
}

func write(report load.Report, out string) error {
	if err := report.Write(os.Stdout); err != nil || out == "" {
		return err
	}
	encoded, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(encoded, '\n'), 0o600)
}
