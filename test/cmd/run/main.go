// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command run is `make run`: it starts a control plane, installs Fairlead, runs the operator
// against it, applies the samples, says where to point kubectl, and stays until Ctrl-C.
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
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func main() {
	root := flag.String("root", ".", "the checkout")
	kubeconfig := flag.String("kubeconfig", "", "use this cluster and start none; its API server must reach localhost here")
	flag.Parse()
	log.SetLogger(logr.Discard()) // of the client library; the operator's own goes to its file

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
	say("starting a control plane: the first time, what setup-envtest cannot download is built")
	s, err := framework.Open(ctx, framework.Options{Root: root, Output: os.Stderr, Cluster: cluster.Options{
		Nodes: 1, Staged: true, Build: cluster.BuildOptions{Prebuilt: true},
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	say("starting the operator as ServiceAccount " + framework.Namespace + "/fairlead-manager")
	replica, err := s.StartReplica(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(s.Reachable(ctx), framework.Eventually(ctx, time.Minute, replica.Started)); err != nil {
		return err
	}
	status, err := replica.Probe(ctx, "/statusz")
	if err != nil {
		return err
	}
	fmt.Println(indent(status))
	if err := samples(ctx, s.KubectlIO, root, external); err != nil {
		return err
	}
	say("ExternalServices can be used: export KUBECONFIG=" + s.Kubeconfig())
	say("starting what runs workloads")
	if err := s.Complete(ctx); err != nil {
		return err
	}
	if err := samples(ctx, s.KubectlIO, root, workloads); err != nil {
		return err
	}
	fmt.Printf("\nready: KUBECONFIG=%s\n\n", s.Kubeconfig())
	restartHint(s.Kubeconfig())
	fmt.Printf("  kubectl                 %s\n", s.KubectlPath())
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

// external applies config/samples and shows the ExternalServices. Each object is named: a cluster may hold many others.
func external(folder string) [][]string {
	return [][]string{
		{"apply", "-k", folder},
		{"wait", "-n", "default", "--for=condition=Ready", "--timeout=60s", "externalservice/billing-db", "externalservice/mail-relay"},
		{"get", "-n", "default", "externalservice/billing-db", "externalservice/mail-relay"},
		{"get", "-n", "default", "service/billing-db", "service/mail-relay"},
		{"get", "-n", "default", "endpointslices", "-l", "kubernetes.io/service-name in (billing-db, mail-relay)"},
	}
}

// workloads waits for what is restarted and shows it all.
func workloads(folder string) [][]string {
	return [][]string{
		{"wait", "-n", "default", "--for=condition=Ready", "--timeout=60s", "rebootpolicy/payments", "rebootpolicy/payments-worker"},
		{"rollout", "status", "-n", "default", "--timeout=60s", "deployment/payments-api"},
		{"get", "-k", folder},
	}
}

// samples runs kubectl on config/samples, and shows what it prints.
func samples(ctx context.Context, kubectl framework.Kubectl, root string, commands func(folder string) [][]string) error {
	for _, args := range commands(filepath.Join(root, "config", "samples")) {
		var out bytes.Buffer
		// An API server that has just been given a caBundle serves some kinds only seconds later.
		err := framework.Eventually(ctx, 2*time.Minute, func(ctx context.Context) error {
			out.Reset()
			var problems bytes.Buffer
			if err := kubectl(ctx, nil, &out, &problems, args...); err != nil {
				return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problems.String()))
			}
			_, err := problems.WriteTo(os.Stderr) // warnings of the webhooks
			return err
		})
		if err != nil {
			return err
		}
		fmt.Println(indent(out.String()))
	}
	return nil
}

// restartHint says how to watch a restart.
func restartHint(kubeconfig string) {
	fmt.Println("  watch a restart:")
	fmt.Printf("    export KUBECONFIG=%s\n", kubeconfig)
	fmt.Println(`    kubectl patch configmap payments-config --type=merge -p '{"data":{"LOG_LEVEL":"debug"}}'`)
	fmt.Println("    kubectl get rebootpolicy payments --watch")
}

func say(text string) { fmt.Printf("==> %s\n", text) }

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}
