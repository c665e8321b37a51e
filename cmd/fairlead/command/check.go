// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/check"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
)

// checkFlags are those of the command.
type checkFlags struct {
	inspectFlags
	wait bool
}

func checkCommand(o Options) *cobra.Command {
	f := checkFlags{inspectFlags: newInspectFlags(inspectText, inspectJSON, inspectYAML)}
	command := &cobra.Command{
		Use:   "check",
		Short: "Check the installation of Fairlead in a cluster.",
		Long: `Check the installation of Fairlead in a cluster: the CRDs and their versions, the Deployments, the webhook
configurations, certificates and CA bundles, the Lease, and the permissions of the operator's ServiceAccounts. A dry
run creates an object of each kind at each served version, in the namespace of -n. It passes both webhooks and the
conversion, and persists nothing.

The command finds the operator's namespace in the CRDs, and the other objects by its Deployments. Objects that you
cannot read are reported as unchecked, with the permission you need.

Each check is one line: ok, warning, failed, unchecked (you cannot read it), or skipped (it does not apply, or needs
permissions that few users have), with what to do.

Exit code 0: nothing failed. 1: something failed. 2: something is unchecked, or the command line is wrong.`,
		Example: strings.ReplaceAll(`  fairlead check
  fairlead check -n shop --context=production
  fairlead check --wait --timeout=5m
  fairlead check -o json`, "fairlead check", o.Program+" check"),
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return &exit{exitUnread, fmt.Errorf("check: %w", err)}
			}
			report, err := f.run(command.Context())
			if err != nil {
				err = &exit{exitUnread, fmt.Errorf("check: %w", err)}
				if len(report.Results) == 0 {
					return err
				}
			}
			write := func(to io.Writer) error { return f.write(to, report.Document()) }
			if f.format == inspectText {
				write = report.WriteText
			}
			if failed := write(command.OutOrStdout()); failed != nil {
				return &exit{exitUnread, fmt.Errorf("check: %w", failed)}
			}
			switch {
			case err != nil:
				return err
			case report.Count(check.Failed) > 0:
				return &exit{exitFindings, nil}
			case report.Count(check.Unchecked) > 0:
				return &exit{exitUnread, nil}
			}
			return nil
		},
	}
	f.add(command, o)
	set := command.Flags()
	set.Lookup("namespace").Usage = "Namespace of the dry runs, which must not be that of the operator. Empty: that of the context."
	set.StringVar(&f.operatorNamespace, "operator-namespace", "", "Namespace of the operator. Empty: the one that the CRDs name.")
	set.Lookup("timeout").Usage = "How long all checks may take, with --wait all rounds of them."
	set.BoolVar(&f.wait, "wait", f.wait, "Repeat the checks until none fails and none is unchecked, or the timeout is over.")
	return command
}

// run makes the checks in the cluster that the flags name.
func (f *checkFlags) run(parent context.Context) (check.Report, error) {
	api, found, err := f.config("check")
	if err != nil {
		return check.Report{}, err
	}
	options := check.Options{OperatorNamespace: f.operatorNamespace, Version: version.Version}
	if options.Namespace, _, err = found.Namespace(); err != nil {
		return check.Report{}, fmt.Errorf("namespace of the dry runs: %w; give one with --namespace", err)
	}
	if inCluster(api) {
		options.Dial = (&net.Dialer{}).DialContext
	}
	checker, err := check.NewForConfig(api, options)
	if err != nil {
		return check.Report{}, fmt.Errorf("reach the cluster: %w", err)
	}
	ctx, stop := f.bounded(parent)
	defer stop()
	if f.wait {
		return checker.Wait(ctx)
	}
	return checker.Run(ctx)
}

// inCluster reports whether this is a pod of the cluster, which reaches Services by their names.
func inCluster(api *rest.Config) bool {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	return host != "" && api.Host == "https://"+net.JoinHostPort(host, port)
}
