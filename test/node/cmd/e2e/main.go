// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command e2e is `make e2e`: it installs the real image of Fairlead on a real node, by the chart and in both
// layouts, rolls it under load, and prints what the requests lost. It needs root and Linux; where something
// is missing, it says what, counts that as skipped, and succeeds.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/image"
	"github.com/fairlead-dev/fairlead/test/node"
	"github.com/fairlead-dev/fairlead/test/node/rollout"
)

// options are the same on the host and inside.
type options struct {
	root, out, operator, from string
	rollout                   rollout.Options
}

func main() {
	code, first, err := node.First()
	if !first {
		code, err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run() (int, error) {
	log.SetLogger(logr.Discard()) // of the client library
	var o options
	flag.StringVar(&o.root, "root", "..", "the checkout")
	flag.StringVar(&o.out, "out", "", "write the rows to this `file`, as JSON")
	flag.StringVar(&o.operator, "operator", "", "the `program` that the image holds (default: built from the checkout)")
	flag.StringVar(&o.from, "from", "", "the `commit` whose chart and image are upgraded (default: the first that has a chart)")
	flag.IntVar(&o.rollout.Requests, "requests", rollout.DefaultRequests, "how many requests the rolling updates see at least")
	flag.IntVar(&o.rollout.Rollouts, "rollouts", rollout.DefaultRollouts, "how many rolling updates there are at least")
	flag.Float64Var(&o.rollout.Rate, "rate", rollout.DefaultRate, "how many steps of one or two requests are sent per second at most")
	flag.DurationVar(&o.rollout.Limit, "limit", rollout.DefaultLimit, "how long a scenario may go on")
	flag.StringVar(&o.rollout.Only, "only", "", "only the scenarios whose name matches this regular `expression`")
	flag.BoolVar(&o.rollout.Stay, "stay", false, "once the scenarios are through, keep the node until Ctrl-C")
	flag.Parse()
	if flag.NArg() > 0 {
		return 2, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	var err error
	if o.root, err = filepath.Abs(o.root); err != nil {
		return 1, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if node.Inside() {
		return 0, o.inside(ctx)
	}
	return o.outside(ctx)
}

// folder takes what is built, and what is kept of a run.
func (o options) folder(parts ...string) string {
	return filepath.Join(append([]string{o.root, "bin", "node"}, parts...)...)
}

// pause is the program of the image that holds a pod, and that image's archive.
const pause = "pause"

// certManager is the program of the image that has the controllers of cert-manager, and that image's archive.
const certManager = "certmanager"

// archive is where an image lies until the node has ended.
func (o options) archive(name string) string { return o.folder("images", name+".tar") }

// outside builds everything, runs this program inside, and writes the rows.
func (o options) outside(ctx context.Context) (int, error) {
	if missing := node.Missing(); len(missing) > 0 {
		fmt.Printf("SKIPPED: 1 suite of 1, the real node. This machine lacks:\n  %s\n", strings.Join(missing, "\n  "))
		return 0, nil
	}
	began := time.Now()
	// The node's own versions count, not those that a developer has chosen for tests.
	for _, chosen := range []string{cluster.AssetsVariable, cluster.VersionVariable} {
		if err := os.Unsetenv(chosen); err != nil {
			return 1, err
		}
	}
	if _, err := cluster.Build(ctx, cluster.BuildOptions{Root: o.root, Programs: node.ControlPlane(), Output: os.Stderr}); err != nil {
		return 1, err
	}
	if _, err := node.Prepare(ctx, node.PrepareOptions{Root: o.root, Output: os.Stderr}); err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(o.folder("images")) }() // what is left is written again
	if err := o.images(ctx); err != nil {
		return 1, err
	}
	fmt.Fprintf(os.Stderr, "everything is built after %.1f s\n", time.Since(began).Seconds())
	var rows bytes.Buffer
	code, err := node.Enter(ctx, node.EnterOptions{Root: o.root, Report: &rows})
	if err == nil && o.out != "" && rows.Len() > 0 {
		err = os.WriteFile(o.out, rows.Bytes(), 0o644) //nolint:gosec // figures for everybody to read
	}
	fmt.Fprintf(os.Stderr, "the end, after %.1f s\n", time.Since(began).Seconds())
	return code, errors.Join(err, context.Cause(ctx))
}

// chartName is the name of the installation by the chart for --only.
const chartName = "installation by the chart on a real node"

// byChart says whether the installation by the chart is played.
func (o options) byChart() (bool, error) {
	only, err := regexp.Compile(o.rollout.Only)
	if err != nil {
		return false, fmt.Errorf("the scenarios to run: %w", err)
	}
	return only.MatchString(chartName), nil
}

// charts builds the two versions of the chart, the program of the previous one, the test of installations, and the controllers
// of cert-manager. The last two are modules of their own.
func (o options) charts(ctx context.Context) error {
	versions := []string{"run", "-trimpath", "./cmd/versions", "--root=" + o.root, "--out=" + o.folder("versions")}
	if o.from != "" {
		versions = append(versions, "--from="+o.from)
	}
	for _, build := range []struct {
		module string
		args   []string
	}{
		{"install", versions},
		{"install", []string{"test", "-c", "-trimpath", "-o", o.folder("install.test"), "."}},
		{"certmanager", []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", o.folder("certmanager"), "./cmd/certmanager"}},
	} {
		command := exec.CommandContext(ctx, "go", build.args...)
		command.Dir = filepath.Join(o.root, "test", build.module)
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if said, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("build the charts: %w: %s", err, said)
		}
	}
	module := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager")
	module.Dir = filepath.Join(o.root, "test", "certmanager")
	of, err := module.Output()
	if err != nil {
		return fmt.Errorf("find the CRDs of cert-manager: %w", err)
	}
	manifests, err := rollout.CertManager(filepath.Join(strings.TrimSpace(string(of)), "deploy", "crds"))
	if err != nil {
		return err
	}
	return os.WriteFile(o.certManagerManifests(), manifests, 0o600)
}

// certManagerManifests is the file of cert-manager's manifests.
func (o options) certManagerManifests() string { return o.folder("versions", "cert-manager.yaml") }

// images builds the operator, and writes the archives that the node loads.
func (o options) images(ctx context.Context) error {
	if err := os.MkdirAll(o.folder("images"), 0o700); err != nil {
		return err
	}
	operator := o.operator
	if operator == "" {
		operator = o.folder("fairlead")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", operator, "./cmd/fairlead")
		build.Dir = o.root
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if said, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the operator: %w: %s", err, said)
		}
	}
	all := []struct{ repository, tag, program string }{
		{rollout.Repository, rollout.One, operator}, {rollout.Repository, rollout.Two, operator},
	}
	if play, err := o.byChart(); err != nil {
		return err
	} else if play {
		if err := o.charts(ctx); err != nil {
			return err
		}
		if err := o.image(certManager, rollout.CertManagerImage, o.folder(certManager)); err != nil {
			return err
		}
		all = append(all, []struct{ repository, tag, program string }{
			{rollout.ChartRepository, rollout.ChartFormer, o.folder("versions", rollout.ChartFormer, "fairlead")},
			{rollout.ChartRepository, rollout.ChartCurrent, operator},
		}...)
	}
	for _, i := range all {
		stage, err := image.Dockerfile(filepath.Join(o.root, "Dockerfile"), map[string]string{"VERSION": i.tag})
		if err != nil {
			return err
		}
		if _, err := (image.Image{Reference: i.repository + ":" + i.tag, Stage: stage, Programs: []string{i.program}}).WriteFile(o.archive(i.tag)); err != nil {
			return err
		}
	}
	return o.image(pause, node.PauseImage, o.folder("programs", pause))
}

// image writes the archive of an image that has a program and nothing else.
func (o options) image(name, reference, program string) error {
	stage := &image.Stage{Config: image.Config{User: "65535:65535", Entrypoint: []string{"/" + name}}, Program: "/" + name}
	_, err := image.Image{Reference: reference, Stage: stage, Programs: []string{program}}.WriteFile(o.archive(name))
	return err
}

// inside starts the node and plays the scenarios.
func (o options) inside(ctx context.Context) (err error) {
	report := node.Report()
	defer func() { err = errors.Join(err, report.Close()) }()
	logs := o.folder("logs")
	if err := os.RemoveAll(logs); err != nil { // of the last run
		return err
	}
	began := time.Now()
	n, err := node.Start(ctx, node.Options{Root: o.root, Programs: node.Locate(o.root), Logs: logs, Output: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Stop()) }()
	archives := []string{pause, rollout.One, rollout.Two}
	byChart, err := o.byChart()
	if err != nil {
		return err
	}
	if byChart {
		archives = append(archives, rollout.ChartFormer, rollout.ChartCurrent, certManager)
	}
	for _, archive := range archives {
		if err := n.Load(ctx, o.archive(archive)); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "the node is ready, with its images, after %.1f s\n", time.Since(began).Seconds())
	o.rollout.Root, o.rollout.Output, o.rollout.Logs = o.root, os.Stdout, logs
	if byChart {
		o.rollout.Before, err = rollout.Chart(ctx, n, rollout.ChartOptions{
			Root: o.root, Program: o.folder("install.test"), Versions: o.folder("versions"), CertManager: o.certManagerManifests(), Output: os.Stdout,
		})
		if err != nil {
			return errors.Join(err, rollout.WriteJSON(report, o.rollout.Before))
		}
	}
	rows, err := rollout.Run(ctx, n, o.rollout)
	return errors.Join(err, rollout.WriteJSON(report, rows))
}
