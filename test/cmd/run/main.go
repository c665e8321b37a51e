// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command run is `make run`: it starts a control plane, installs Fairlead, runs the operator
// against it, applies the samples, says where to point kubectl, and stays until Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/stage"
)

func main() {
	root := flag.String("root", ".", "the checkout")
	kubeconfig := flag.String("kubeconfig", "", "use this cluster and start none; its API server must reach localhost here")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := local
	if *kubeconfig != "" {
		run = func(ctx context.Context, root string) error { return remote(ctx, root, *kubeconfig) }
	}
	if err := run(ctx, *root); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

// local runs everything here.
func local(ctx context.Context, root string) (err error) {
	say("starting a control plane (the first time it is built, which takes some minutes)")
	s, err := stage.Open(ctx, stage.Options{Root: root, Output: os.Stderr, Cluster: cluster.Options{Nodes: 1}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	say("starting the operator as ServiceAccount " + stage.Namespace + "/fairlead-manager")
	replica, err := s.StartReplica(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(s.Reachable(ctx), stage.Eventually(ctx, time.Minute, replica.Started)); err != nil {
		return err
	}
	status, err := replica.Probe(ctx, "/statusz")
	if err != nil {
		return err
	}
	fmt.Println(indent(status))
	if err := samples(ctx, s.KubectlIO, root); err != nil {
		return err
	}
	fmt.Printf("\nready: KUBECONFIG=%s\n\n", s.Kubeconfig())
	fmt.Printf("  kubectl --kubeconfig %s get fairlead -A\n", s.Kubeconfig())
	fmt.Println("  a simulated node runs pods: Deployments roll, and what restarts them can be tried")
	fmt.Printf("  probes and start order  %s/statusz\n", replica.Probes)
	fmt.Printf("  the operator's log      %s\n\nCtrl-C ends all of it.\n", replica.LogPath())

	ended := make(chan error, 1)
	go func() { ended <- replica.Wait(ctx) }()
	select {
	case <-ctx.Done():
		say("stopping")
		return nil
	case err := <-ended:
		if ctx.Err() != nil {
			return nil
		}
		tail, _ := replica.Logs()
		return fmt.Errorf("the operator ended (%w); its last words:\n%s", err, tail)
	}
}

// samples applies config/samples, waits for those that are reconciled, and shows what came of it.
func samples(ctx context.Context, kubectl stage.Kubectl, root string) error {
	say("applying config/samples")
	for _, args := range [][]string{
		{"apply", "-k", filepath.Join(root, "config", "samples")},
		{"wait", "--for=condition=Ready", "--timeout=60s", "externalservices", "--all", "-A"},
		{"get", "fairlead", "-A"},
		{"get", "services", "-A", "-l", "app.kubernetes.io/managed-by=fairlead.dev"},
		{"get", "endpointslices", "-A", "-l", "endpointslice.kubernetes.io/managed-by=fairlead.dev"},
	} {
		var out, problems strings.Builder
		if err := kubectl(ctx, nil, &out, io.MultiWriter(&problems, os.Stderr), args...); err != nil {
			return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, problems.String())
		}
		fmt.Println(indent(out.String()))
	}
	return nil
}

func say(text string) { fmt.Printf("==> %s\n", text) }

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}
