// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"maps"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/cluster"
)

// rules say where a kubeconfig is looked for.
func (f *vetFlags) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return rules
}

// contexts completes --context.
func (f *vetFlags) contexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	config, err := f.rules().Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// checkCluster checks the objects of a cluster, which is found as kubectl finds it.
func (f *vetFlags) checkCluster(command *cobra.Command, _ []string, found func(vet.Object) error) (vet.Summary, error) {
	disabled, err := vet.Disabled(f.disable)
	if err != nil {
		return vet.Summary{}, err
	}
	rules := f.rules()
	config := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
	api, err := config.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return vet.Summary{}, fmt.Errorf("find the cluster: there is no kubeconfig (%s), and this is no pod of a cluster: name one with --kubeconfig or KUBECONFIG",
			strings.Join(rules.GetLoadingPrecedence(), ", "))
	case err != nil:
		return vet.Summary{}, fmt.Errorf("find the cluster: %w", err)
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
