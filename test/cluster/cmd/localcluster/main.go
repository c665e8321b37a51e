// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command localcluster runs a Kubernetes control plane on loopback until Ctrl-C. It is for those who
// want just the API server; tests use the library.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/fairlead-dev/fairlead/test/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "localcluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	buildOnly := flag.Bool("build", false, "build the programs that are missing, print their folder, and exit")
	bare := flag.Bool("without-controller-manager", false, "etcd and kube-apiserver only")
	nodes := flag.Int("nodes", 0, "`number` of simulated nodes; with any, kube-scheduler and KWOK run too")
	podCIDR := flag.String("pod-cidr", "", "`range` that pods get their IPs from (default 10.244.0.0/16)")
	logs := flag.String("logs", "", "`folder` for the components' logs, which are kept (default: removed with the cluster)")
	flag.Usage = func() {
		_, _ = fmt.Fprint(flag.CommandLine.Output(), `Usage: localcluster [flags]

Runs etcd, kube-apiserver and kube-controller-manager on loopback until Ctrl-C, prints
KUBECONFIG=<path> once all of it is ready, and leaves nothing behind. With -nodes, pods
run too, on simulated nodes. Builds the programs first where they are missing; a folder
in KUBEBUILDER_ASSETS is used instead.

`)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see -help", strings.Join(flag.Args(), " "))
	}
	if *buildOnly {
		folder, err := cluster.Build(ctx, cluster.BuildOptions{Output: os.Stderr})
		if err == nil {
			fmt.Println(folder)
		}
		return err
	}
	c, err := cluster.Start(ctx, cluster.Options{
		WithoutControllerManager: *bare,
		Nodes:                    *nodes,
		PodCIDR:                  *podCIDR,
		LogFolder:                *logs,
		Output:                   os.Stderr,
	})
	if err != nil {
		return err
	}
	fmt.Printf("KUBECONFIG=%s\n", c.Kubeconfig())
	<-c.Done()
	return c.Stop()
}
