// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
)

const rolloutsModule = "github.com/argoproj/argo-rollouts"

// rolloutsCRDs are those that the controller of Argo Rollouts waits for.
var rolloutsCRDs = []string{
	"rollout-crd.yaml", "experiment-crd.yaml", "analysis-run-crd.yaml", "analysis-template-crd.yaml", "cluster-analysis-template-crd.yaml",
}

// BuildArgoRollouts builds the controller of Argo Rollouts, as far as it is not current.
func BuildArgoRollouts(ctx context.Context, root string) (program string, err error) {
	return build(ctx, root, "argorollouts", rolloutsModule+"/cmd/rollouts-controller")
}

// DefineRollouts applies the CRDs of Argo Rollouts, as they stand in its module.
func (c *Cluster) DefineRollouts(ctx context.Context) error {
	module, err := goIn(ctx, c.root, "argorollouts", "list", "-m", "-f", "{{.Dir}}", rolloutsModule)
	if err != nil {
		return err
	}
	for _, file := range rolloutsCRDs {
		if err := c.define(ctx, filepath.Join(module, "manifests", "crds", file)); err != nil {
			return err
		}
	}
	return nil
}

// StartArgoRollouts runs the controller of Argo Rollouts, and returns when it is ready.
func (c *Cluster) StartArgoRollouts(ctx context.Context) (*cluster.Component, error) {
	program, err := BuildArgoRollouts(ctx, c.root)
	if err != nil {
		return nil, err
	}
	var health string
	return c.Run(ctx, cluster.Spec{
		Name: "argo-rollouts",
		Path: program,
		Args: func() ([]string, error) {
			healthz, err := loopback.FreePort()
			metrics, second := loopback.FreePort()
			health = fmt.Sprintf("http://127.0.0.1:%d/healthz", healthz)
			return []string{
				"--kubeconfig=" + c.Kubeconfig(), "--leader-elect=false",
				fmt.Sprintf("--healthzPort=%d", healthz), fmt.Sprintf("--metricsPort=%d", metrics),
			}, errors.Join(err, second)
		},
		Ready: func(ctx context.Context) error { return answers(ctx, health) },
	})
}
