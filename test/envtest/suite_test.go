// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package envtest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/test/cluster"
)

// assets is the folder with etcd, kube-apiserver and kubectl: those of the local cluster. A copy of
// these tests leaves this file out, and sets KUBEBUILDER_ASSETS.
var assets string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.SetLogger(logr.Discard()) // of the client library; the operator's own goes to a buffer
	var err error
	assets, err = cluster.Build(ctx, cluster.BuildOptions{
		Root: fairlead, Output: os.Stderr, Programs: []string{cluster.Etcd, cluster.APIServer, cluster.Kubectl},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
