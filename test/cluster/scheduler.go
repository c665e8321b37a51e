// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
)

// Scheduler is the name of the component, and of its program.
const Scheduler = "kube-scheduler"

func scheduler(c *Cluster, programs binaries) Spec {
	var port int // of the last attempt
	return Spec{
		Name: Scheduler,
		Path: programs.path(Scheduler),
		Env:  quiet,
		Args: func() ([]string, error) {
			// Its real identity: the rights it has here are those it has everywhere.
			user, err := c.User("system:kube-scheduler")
			if err != nil {
				return nil, err
			}
			if port, err = loopback.FreePort(); err != nil {
				return nil, err
			}
			return append([]string{
				"--kubeconfig=" + user.Kubeconfig,
				"--bind-address=127.0.0.1",
				fmt.Sprintf("--secure-port=%d", port),
				"--tls-cert-file=" + c.pki.file("component.crt"),
				"--tls-private-key-file=" + c.pki.file("component.key"),
				"--leader-elect=false",
				// The defaults make a test wait for its turn.
				"--kube-api-qps=500",
				"--kube-api-burst=1000",
			}, c.options.SchedulerFlags...), nil
		},
		// Ready means here that it has seen all nodes and pods.
		Ready: func(ctx context.Context) error { return c.getComponent(ctx, port, "/readyz") },
	}
}
