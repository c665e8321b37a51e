// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command certmanager is cert-manager for suites: its own controllers and CA injector in one
// process, against the cluster of a kubeconfig or of the pod that it is. It ends on SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-dev/fairlead/test/certmanager"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var o certmanager.Options
	// A set of its own: controller-runtime claims --kubeconfig in the one of the process.
	flags := flag.NewFlagSet("certmanager", flag.ContinueOnError)
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "file that says which cluster, and as whom; empty: those of the pod")
	flags.StringVar(&o.ClusterResourceNamespace, "cluster-resource-namespace", "cert-manager", "where the Secrets of ClusterIssuers are")
	flags.StringVar(&o.Health, "health-bind-address", "", "address of /healthz and /readyz; empty serves neither")
	flags.BoolVar(&o.Injector, "cainjector", true, "run the CA injector too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctrl.SetLogger(klog.Background())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return certmanager.Run(ctx, o)
}
