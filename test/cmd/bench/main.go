// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench is `make bench`: it prints what conversion and admission cost per object beside
// controller-runtime's stock handlers, and writes the figures as JSON.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/fairlead-dev/fairlead/test/bench"
)

func main() {
	out := flag.String("out", "", "write the figures to this file, as JSON")
	rounds := flag.Int("rounds", 7, "how often every case is measured on each side")
	slot := flag.Duration("slot", 200*time.Millisecond, "how long a handler is called in a round")
	only := flag.String("only", "", "measure only the cases whose name this regular expression matches")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *out, *only, bench.Options{Rounds: *rounds, Slot: *slot, Progress: progress}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func progress(round, of int) { fmt.Fprintf(os.Stderr, "round %d of %d\n", round, of) }

func run(ctx context.Context, out, only string, o bench.Options) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	cases, err := bench.Cases()
	if err != nil {
		return err
	}
	cases = slices.DeleteFunc(cases, func(c bench.Case) bool { return !wanted.MatchString(c.Name) })
	if len(cases) == 0 {
		return errors.New("--only matches no case")
	}
	results, err := bench.Run(ctx, cases, o)
	if err != nil {
		return err
	}
	ns, allocs := bench.Floor(cases[0], o.Slot)
	fmt.Println()
	if err := bench.WriteTable(os.Stdout, results); err != nil {
		return err
	}
	fmt.Printf("The harness itself, in every figure of either side: %.2f us, %.0f allocations.\n", ns/1e3, allocs)
	if out == "" {
		return nil
	}
	var written bytes.Buffer
	if err := bench.WriteJSON(&written, results); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o750); err != nil {
		return err
	}
	return os.WriteFile(out, written.Bytes(), 0o600)
}
