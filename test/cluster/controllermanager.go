// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
)

// ControllerManager is the name of the component, and of its program.
const ControllerManager = "kube-controller-manager"

func controllerManager(c *Cluster, programs binaries) Spec {
	return Spec{
		Name: ControllerManager,
		Path: programs.path(ControllerManager),
		Env:  quiet,
		Args: func() ([]string, error) {
			// Its real identity: the rights it has here are those it has everywhere.
			user, err := c.User("system:kube-controller-manager")
			if err != nil {
				return nil, err
			}
			return append([]string{
				"--kubeconfig=" + user.Kubeconfig,
				"--secure-port=0",
				"--leader-elect=false",
				"--controllers=*",
				"--use-service-account-credentials=true",
				"--service-account-private-key-file=" + c.pki.file("service-account.key"),
				"--root-ca-file=" + c.pki.file("ca.crt"),
				// The defaults make a test wait for its turn.
				"--kube-api-qps=500",
				"--kube-api-burst=1000",
			}, c.options.ControllerManagerFlags...), nil
		},
		// It serves nothing here; what it has made says that its controllers run.
		Ready: func(ctx context.Context) error {
			return c.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default")
		},
	}
}
