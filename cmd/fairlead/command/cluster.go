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
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
)

// clusterFlags are those by which kubectl finds a cluster.
type clusterFlags struct {
	*genericclioptions.ConfigFlags
}

// shownFlags are the flags of kubectl that the help of each command shows. The command options lists all.
var shownFlags = []string{"kubeconfig", "context", "namespace", "as", "as-group", "request-timeout"}

// newConfigFlags returns the flags of kubectl, and their set.
func newConfigFlags() (*genericclioptions.ConfigFlags, *pflag.FlagSet) {
	flags := genericclioptions.NewConfigFlags(true)
	flags.CacheDir = nil // nothing is discovered
	set := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	flags.AddFlags(set)
	return flags, set
}

// addCluster gives a command the flags that name a cluster and a namespace.
func (f *clusterFlags) addCluster(command *cobra.Command, o Options) {
	var set *pflag.FlagSet
	f.ConfigFlags, set = newConfigFlags()
	set.VisitAll(func(flag *pflag.Flag) { flag.Hidden = !slices.Contains(shownFlags, flag.Name) })
	command.Flags().AddFlagSet(set)
	command.SetUsageTemplate(command.UsageTemplate() + "\nUse \"" + o.Program + " options\" for the other flags of kubectl, which this command takes.\n")
	completeBy(command, "context", f.contexts)
	completeBy(command, "namespace", f.namespaces)
}

// kubectlFlags are the flags of kubectl that help does not repeat for each command.
func kubectlFlags() *pflag.FlagSet {
	_, set := newConfigFlags()
	printing := &cobra.Command{}
	genericclioptions.NewPrintFlags("").AddFlags(printing)
	printing.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "output" {
			set.AddFlag(flag)
		}
	})
	return set
}

// hidePrinting has help not repeat the flags of kubectl about templates.
func hidePrinting(set *pflag.FlagSet) {
	for _, name := range []string{"template", "allow-missing-template-keys", "show-managed-fields"} {
		if flag := set.Lookup(name); flag != nil {
			flag.Hidden = true
		}
	}
}

// optionsCommand lists the flags of kubectl.
func optionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "List the flags of kubectl that commands take.",
		Long: `List the flags of kubectl that commands take. Each command that reaches a cluster takes those about clusters and
users. Each command with --output takes those about templates.`,
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(command.OutOrStdout(), command.Long, "\n\n", kubectlFlags().FlagUsages())
			return err
		},
	}
}

// contexts completes --context.
func (f *clusterFlags) contexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	config, err := f.ToRawKubeConfigLoader().ConfigAccess().GetStartingConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// currentContext is the context that is used; empty where none is named.
func (f *clusterFlags) currentContext() string {
	if *f.Context == "" {
		if raw, err := f.ToRawKubeConfigLoader().RawConfig(); err == nil {
			return raw.CurrentContext
		}
	}
	return *f.Context
}

// config returns how the API server is reached, as a command with this name. It sends nothing.
func (f *clusterFlags) config(name string) (*rest.Config, clientcmd.ClientConfig, error) {
	found := f.ToRawKubeConfigLoader()
	raw, err := found.RawConfig()
	_, notInPod := rest.InClusterConfig()
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("find the cluster: %w", err)
	case len(raw.Clusters) == 0 && *f.APIServer == "" && notInPod != nil:
		return nil, nil, fmt.Errorf("find the cluster: there is no kubeconfig (%s), and this is no pod of a cluster: name one with --kubeconfig or KUBECONFIG",
			strings.Join(found.ConfigAccess().GetLoadingPrecedence(), ", "))
	case *f.Impersonate == "" && len(*f.ImpersonateGroup) > 0:
		return nil, nil, errors.New("--as-group: give a user with --as too")
	}
	api, err := found.ClientConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("find the cluster: %w", err)
	}
	api.UserAgent = "fairlead-" + name + "/" + version.Get().Version
	return api, found, nil
}

// connect returns a client of the cluster that the flags name, and the namespace. It sends nothing.
func (f *clusterFlags) connect(name string) (client.WithWatch, string, error) {
	api, found, err := f.config(name)
	if err != nil {
		return nil, "", err
	}
	namespace, _, err := found.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("find the namespace: %w; give one with --namespace", err)
	}
	reader, err := inspect.NewClient(api)
	if err != nil {
		return nil, "", fmt.Errorf("reach the cluster: %w", err)
	}
	return reader, namespace, nil
}

// addOperatorNamespace gives a command the flag that names the operator's namespace.
func addOperatorNamespace(command *cobra.Command, to *string) {
	command.Flags().StringVar(to, "operator-namespace", operatorNamespace, "Namespace of the operator, its Lease and the blackouts of the cluster.")
}

// operatorNamespace is that of the manifests.
const operatorNamespace = "fairlead-system"
