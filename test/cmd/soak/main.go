// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command soak is `make soak`: it keeps three replicas of the operator under load on a real control
// plane while certificates change, replicas come and go, and parts of the cluster fail, prints a row
// for each scenario, and writes the figures as JSON. It ends with exit code 1 when a request failed
// that a replica could have answered, when two replicas reconciled at one instant, or when a scenario
// could not be played; the others are played all the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/test/soak"
)

func main() {
	o := soak.Options{Output: os.Stderr}
	out := flag.String("out", "", "write the figures to this file, as JSON, after each row")
	only := flag.String("only", "", "run only the scenarios whose name this regular expression matches; the file keeps the rows of all others")
	list := flag.Bool("list", false, "print the names of the scenarios")
	flag.StringVar(&o.Root, "root", "..", "the checkout whose manifests and operator are used")
	flag.StringVar(&o.Operator, "operator", "", "a program to run instead of the checkout's test/cmd/operator")
	flag.IntVar(&o.Requests, "requests", 20_000, "how many requests are sent at least in a row; a quarter in those that are over soon")
	flag.Uint64Var(&o.Seed, "seed", 1, "decides what is sent")
	flag.DurationVar(&o.Limit, "limit", 0, "how long a scenario may take; 0 is 30m")
	flag.Parse()
	if *list {
		fmt.Println(strings.Join(soak.Scenarios(), "\n"))
		return
	}

	log.SetLogger(logr.Discard()) // of the client library; the operator's own is printed where a row is not sound
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *out, *only, o); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

var errUnsound = errors.New("not every row is sound: see above")

func run(ctx context.Context, out, only string, o soak.Options) error {
	if only != "" {
		var err error
		if o.Only, err = regexp.Compile(only); err != nil {
			return fmt.Errorf("--only: %w", err)
		}
	}
	done := func(soak.Row) error { return nil }
	if out != "" {
		record, err := soak.OpenRecord(out, only != "")
		if err != nil {
			return err
		}
		done = record.Add
	}
	var unwritten error
	o.Done = func(row soak.Row) {
		unwritten = errors.Join(unwritten, done(row), soak.WriteTable(os.Stderr, []soak.Row{row}))
	}
	rows, err := soak.Run(ctx, o)
	err = errors.Join(err, unwritten)
	if len(rows) > 0 {
		fmt.Println()
		err = errors.Join(err, soak.WriteTable(os.Stdout, rows))
	}
	if slices.ContainsFunc(rows, func(row soak.Row) bool { return !row.Sound() }) {
		err = errors.Join(err, errUnsound)
	}
	return err
}
