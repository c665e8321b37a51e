// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench is `make bench`: it prints what conversion and admission cost per object beside
// controller-runtime's stock handlers, how long starts and handovers take beside its defaults, what
// checking very many addresses takes, what happens when very many Secrets change at once, what a move
// from Reloader takes, and writes the figures as JSON.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-dev/fairlead/test/bench"
	"github.com/fairlead-dev/fairlead/test/bench/handover"
	"github.com/fairlead-dev/fairlead/test/bench/probes"
	"github.com/fairlead-dev/fairlead/test/bench/restarts"
)

func main() {
	out := flag.String("out", "", "write the figures to this file, as JSON")
	rounds := flag.Int("rounds", 7, "how often every case is measured on each side")
	slot := flag.Duration("slot", 200*time.Millisecond, "how long a handler is called in a round")
	only := flag.String("only", "", "measure only the cases whose name this regular expression matches; start/ or handover/, fleet/, write/ or list/, probe/, restarts/ and move/ stand for all of these")
	root := flag.String("root", "..", "the checkout whose operator checks addresses and restarts workloads")
	p := probes.Options{Output: os.Stderr}
	flag.IntVar(&p.Objects, "probe-objects", 10_000, "how many ExternalServices have their addresses checked, five each; 0 skips this")
	flag.DurationVar(&p.Steady, "probe-steady", time.Minute, "how long the operator is watched while nothing changes")
	flag.DurationVar(&p.Limit, "probe-limit", 45*time.Minute, "how long all of that may take")
	flag.StringVar(&p.Profiles, "probe-profiles", "", "write profiles of the operator at rest into this folder")
	s := restarts.Options{Output: os.Stderr}
	flag.IntVar(&s.Workloads, "restart-workloads", 1000, "how many Deployments have their Secrets changed, four each; 0 skips this")
	flag.IntVar(&s.Targets, "restart-targets", 100, "how many of them a RebootPolicy has, 1 to 100")
	flag.IntVar(&s.Cap, "restart-cap", 50, "how many of them may restart at once")
	flag.DurationVar(&s.Limit, "restart-limit", 20*time.Minute, "how long all of that may take")
	flag.StringVar(&s.Profiles, "restart-profiles", "", "write a profile of the operator into this folder")
	m := restarts.MoveOptions{Output: os.Stderr}
	flag.IntVar(&m.Workloads, "move-workloads", 1000, "how many Deployments with the annotation of Reloader a ClusterRebootPolicy takes, with four sources each; 0 skips this")
	flag.IntVar(&m.Namespaces, "move-namespaces", 300, "how many namespaces they are spread over")
	flag.IntVar(&m.Changes, "move-changes", 200, "how many of their sources change one by one")
	flag.IntVar(&m.Secrets, "move-secrets", 5000, "how many Secrets of 20 KB there are besides when memory is measured")
	flag.DurationVar(&m.Limit, "move-limit", 30*time.Minute, "how long all of that may take")
	flag.StringVar(&m.Profiles, "move-profiles", "", "write a profile of the operator into this folder")
	h := handover.Options{Output: os.Stderr}
	flag.IntVar(&h.Runs, "handover-runs", 3, "how often each start and handover is measured on each side; 0 skips this")
	flag.IntVar(&h.Objects, "fleet-objects", 50_000, "how many suspended ExternalServices there are when a start, a handover and memory are measured once more; 0 skips this")
	flag.IntVar(&h.Secrets, "fleet-secrets", 20_000, "how many Secrets of 20 KB there are when memory is measured beside that without them; 0 skips this")
	flag.IntVar(&h.ConfigMaps, "fleet-configmaps", 15_000, "how many ConfigMaps there are beside these Secrets")
	l := bench.ListOptions{Output: os.Stderr}
	flag.Func("list-sizes", "how many ExternalServices are listed, such as 1000,10000, which is the default; 0 skips this", func(text string) (err error) {
		l.Sizes, err = sizes(text)
		return err
	})
	flag.IntVar(&l.Rounds, "list-rounds", 3, "how often each side lists them")
	flag.DurationVar(&l.Limit, "list-limit", 20*time.Minute, "how long all of that may take")
	flag.Parse()
	l.Root, h.Root = *root, *root
	p.Root, s.Root, m.Root = *root, *root, *root

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *out, *only, bench.Options{Rounds: *rounds, Slot: *slot, Progress: progress}, l, h, p, s, m); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func progress(round, of int) { fmt.Fprintf(os.Stderr, "round %d of %d\n", round, of) }

func run(
	ctx context.Context, out, only string, o bench.Options, l bench.ListOptions, h handover.Options, p probes.Options,
	s restarts.Options, m restarts.MoveOptions,
) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	var all []json.RawMessage
	for _, measure := range []func() ([]json.RawMessage, error){
		func() ([]json.RawMessage, error) { return handlers(ctx, wanted, o) },
		func() ([]json.RawMessage, error) { return listing(ctx, wanted, l) },
		func() ([]json.RawMessage, error) { return handing(ctx, wanted, h) },
		func() ([]json.RawMessage, error) { return probing(ctx, wanted, p) },
		func() ([]json.RawMessage, error) { return restarting(ctx, wanted, s) },
		func() ([]json.RawMessage, error) { return moving(ctx, wanted, m) },
	} {
		entries, err := measure()
		if err != nil {
			return err
		}
		all = append(all, entries...)
	}
	if len(all) == 0 {
		return errors.New("--only matches no case")
	}
	return write(out, all)
}

// handlers measures conversion and admission, and returns the entries of the file.
func handlers(ctx context.Context, wanted *regexp.Regexp, o bench.Options) ([]json.RawMessage, error) {
	cases, err := bench.Cases()
	if err != nil {
		return nil, err
	}
	cases = slices.DeleteFunc(cases, func(c bench.Case) bool { return !wanted.MatchString(c.Name) })
	if len(cases) == 0 {
		return nil, nil
	}
	results, err := bench.Run(ctx, cases, o)
	if err != nil {
		return nil, err
	}
	ns, allocs := bench.Floor(cases[0], o.Slot)
	fmt.Println()
	if err := bench.WriteTable(os.Stdout, results); err != nil {
		return nil, err
	}
	fmt.Printf("The harness itself, in every figure of either side: %.2f us, %.0f allocations.\n", ns/1e3, allocs)
	var written bytes.Buffer
	if err := bench.WriteJSON(&written, results); err != nil {
		return nil, err
	}
	var entries []json.RawMessage
	err = json.Unmarshal(written.Bytes(), &entries)
	return entries, err
}

// handing measures starts and handovers, and returns the entries of the file.
func handing(ctx context.Context, wanted *regexp.Regexp, o handover.Options) ([]json.RawMessage, error) {
	if !wanted.MatchString(handover.StartPrefix) && !wanted.MatchString(handover.Prefix) {
		o.Runs = 0
	}
	if !wanted.MatchString(handover.FleetPrefix) {
		o.Objects, o.Secrets = 0, 0
	}
	if o.Runs == 0 && o.Objects == 0 && o.Secrets == 0 {
		return nil, nil
	}
	result, err := handover.Run(ctx, o)
	fmt.Println()
	if err := errors.Join(result.WriteTable(os.Stdout), err); err != nil { // what was measured before it failed took minutes
		return nil, err
	}
	return entriesOf(result.Rows())
}

// listing measures CREATE, UPDATE and LIST through an API server, and returns the entries of the file.
func listing(ctx context.Context, wanted *regexp.Regexp, o bench.ListOptions) ([]json.RawMessage, error) {
	if slices.Equal(o.Sizes, []int{0}) || !wanted.MatchString(bench.ListPrefix) && !wanted.MatchString(bench.WritePrefix) {
		return nil, nil
	}
	results, written, err := bench.RunLists(ctx, o)
	if err != nil {
		return nil, err
	}
	fmt.Println()
	if err := bench.WriteWrites(os.Stdout, written); err != nil {
		return nil, err
	}
	fmt.Println()
	if err := bench.WriteLists(os.Stdout, results); err != nil {
		return nil, err
	}
	var rows []bench.Entry
	for _, w := range written {
		rows = append(rows, w.Entries()...)
	}
	for _, listed := range results {
		rows = append(rows, listed.Entries()...)
	}
	return entriesOf(rows)
}

// sizes reads numbers with commas between them, and puts them into order.
func sizes(text string) (list []int, err error) {
	for _, one := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	slices.Sort(list)
	return list, nil
}

// probing measures the checks of addresses, and returns the entries of the file.
func probing(ctx context.Context, wanted *regexp.Regexp, o probes.Options) ([]json.RawMessage, error) {
	if o.Objects == 0 || !wanted.MatchString(probes.Prefix) {
		return nil, nil
	}
	result, err := probes.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	fmt.Println()
	if err := result.WriteTable(os.Stdout, o.Objects); err != nil {
		return nil, err
	}
	return entriesOf(result.Rows())
}

// restarting measures restarts of workloads, and returns the entries of the file.
func restarting(ctx context.Context, wanted *regexp.Regexp, o restarts.Options) ([]json.RawMessage, error) {
	if o.Workloads == 0 || !wanted.MatchString(restarts.Prefix) {
		return nil, nil
	}
	result, err := restarts.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	return tabulate(result.WriteTable, result.Rows())
}

// moving measures a move from Reloader, and returns the entries of the file.
func moving(ctx context.Context, wanted *regexp.Regexp, o restarts.MoveOptions) ([]json.RawMessage, error) {
	if o.Workloads == 0 || !wanted.MatchString(restarts.MovePrefix) {
		return nil, nil
	}
	result, err := restarts.RunMove(ctx, o)
	if err != nil {
		return nil, err
	}
	return tabulate(result.WriteTable, result.Rows())
}

// tabulate prints a table, and returns the rows as entries of the file.
func tabulate[T any](write func(io.Writer) error, rows []T) ([]json.RawMessage, error) {
	fmt.Println()
	if err := write(os.Stdout); err != nil {
		return nil, err
	}
	return entriesOf(rows)
}

func entriesOf[T any](rows []T) ([]json.RawMessage, error) {
	var entries []json.RawMessage
	for _, row := range rows {
		entry, err := json.Marshal(row)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func write(out string, entries []json.RawMessage) error {
	if out == "" {
		return nil
	}
	written, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o750); err != nil {
		return err
	}
	return os.WriteFile(out, append(written, '\n'), 0o600)
}
