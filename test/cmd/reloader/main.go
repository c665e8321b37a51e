// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command reloader is `make test-reloader`: it runs the end-to-end suite of stakater/Reloader against Fairlead, and prints a
// table. It exits 0 only if every spec passes. Under the name helm it is the program that the suites install Reloader with.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/test/reloader"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx)
	stop()
	os.Exit(code)
}

func run(ctx context.Context) int {
	if filepath.Base(os.Args[0]) == "helm" {
		return reloader.Helm(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	log.SetLogger(logr.Discard()) // of the administrator's client
	o := reloader.Options{Inputs: reloader.Inputs{Output: os.Stderr}}
	o.Flags(flag.CommandLine)
	suites := flag.String("suites", "", "suites, with commas between; all by default")
	flag.StringVar(&o.Labels, "labels", "", "filter by labels, as Ginkgo has it; all but csi and openshift by default")
	flag.StringVar(&o.Focus, "focus", "", "regular expression of the names of specs")
	flag.IntVar(&o.Processes, "procs", 0, "how many specs run at once; 4 by default")
	flag.BoolVar(&o.WithoutRollouts, "without-rollouts", false, "leave Argo Rollouts out, and the specs about them")
	flag.Parse()
	if err := o.Complete(); err != nil {
		fmt.Fprintln(os.Stderr, "reloader:", err)
		return 2
	}
	if *suites != "" {
		o.Suites = strings.Split(*suites, ",")
	}
	results, err := reloader.Run(ctx, o)
	if written := reloader.Write(os.Stdout, results); err == nil {
		err = written
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reloader:", err)
		return 1
	}
	for _, result := range results {
		if len(result.Failed) > 0 {
			return 1
		}
	}
	return 0
}
