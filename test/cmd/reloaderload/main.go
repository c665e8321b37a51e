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

	"github.com/fairlead-dev/fairlead/test/reloader"
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
	o := load.Options{Inputs: reloader.Inputs{Output: os.Stderr}}
	o.Flags(flag.CommandLine)
	out := flag.String("out", "", "write the figures to this file, as JSON")
	scenarios := flag.String("scenarios", "", "scenarios, with commas between; all by default")
	flag.IntVar(&o.Runs, "runs", 0, "how often each is measured on each side; 3 by default")
	flag.DurationVar(&o.Duration, "duration", 0, "how long a scenario makes changes; 15s by default")
	flag.Uint64Var(&o.Seed, "seed", 0, "seed of the changes; 1 by default")
	flag.StringVar(&o.Profiles, "profiles", "", "write profiles of the operator into this folder")
	flag.Parse()
	if err := o.Complete(); err != nil {
		fmt.Fprintln(os.Stderr, "reloaderload:", err)
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
