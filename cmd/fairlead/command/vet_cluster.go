// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/cluster"
)

// checkCluster checks the objects of a cluster, which is found as kubectl finds it.
func (f *vetFlags) checkCluster(command *cobra.Command, _ []string, found func(vet.Object) error) (vet.Summary, error) {
	disabled, err := vet.Disabled(f.disable)
	if err != nil {
		return vet.Summary{}, err
	}
	api, config, err := f.config()
	if err != nil {
		return vet.Summary{}, err
	}
	api.UserAgent = "fairlead-vet/" + version.Get().Version
	name := f.context
	if raw, err := config.RawConfig(); err == nil && name == "" {
		name = raw.CurrentContext
	}
	c, err := cluster.New(cluster.Options{Config: api, Name: name, Namespace: f.namespace, Disabled: disabled})
	if err != nil {
		return vet.Summary{}, fmt.Errorf("reach the cluster: %w", err)
	}
	ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return c.Check(ctx, found)
}
