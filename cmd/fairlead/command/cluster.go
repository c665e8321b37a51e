// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterFlags name a cluster, which is found as kubectl finds it.
type clusterFlags struct {
	kubeconfig, context, namespace string
	// as is a user to impersonate, and asGroups are its groups.
	as       string
	asGroups []string
}

// rules say where a kubeconfig is looked for.
func (f *clusterFlags) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return rules
}

// contexts completes --context.
func (f *clusterFlags) contexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	config, err := f.rules().Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// config returns how the API server is reached. It sends nothing.
func (f *clusterFlags) config() (*rest.Config, clientcmd.ClientConfig, error) {
	rules := f.rules()
	config := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
	api, err := config.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, nil, fmt.Errorf("find the cluster: there is no kubeconfig (%s), and this is no pod of a cluster: name one with --kubeconfig or KUBECONFIG",
			strings.Join(rules.GetLoadingPrecedence(), ", "))
	case err != nil:
		return nil, nil, fmt.Errorf("find the cluster: %w", err)
	}
	switch {
	case f.as != "":
		api.Impersonate = rest.ImpersonationConfig{UserName: f.as, Groups: f.asGroups}
	case len(f.asGroups) > 0:
		return nil, nil, errors.New("--as-group: give a user with --as too")
	}
	return api, config, nil
}

// addOperatorNamespace gives a command the flag that names the operator's namespace.
func addOperatorNamespace(command *cobra.Command, to *string) {
	command.Flags().StringVar(to, "operator-namespace", operatorNamespace, "Namespace of the operator, where its Lease and the blackouts of the cluster are.")
}

// operatorNamespace is that of the manifests.
const operatorNamespace = "fairlead-system"
