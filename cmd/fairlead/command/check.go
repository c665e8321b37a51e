// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/check"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
)

// What --output of check may be.
const (
	checkText = "text"
	checkJSON = "json"
)

// checkFlags are those of the command.
type checkFlags struct {
	clusterFlags
	operatorNamespace, format string
	timeout                   time.Duration
	wait                      bool
}

func checkCommand(o Options) *cobra.Command {
	f := checkFlags{format: checkText, timeout: time.Minute}
	command := &cobra.Command{
		Use:   "check",
		Short: "Check the installation of Fairlead in a cluster.",
		Long: `Check the installation of Fairlead in a cluster: the CRDs and their versions, the Deployments, the
webhook configurations, certificates and CA bundles, the Lease, and the rights of the operator's
ServiceAccounts. An object of each kind is created at each served version by a dry run, in the namespace
that -n names: that takes both webhooks and the conversion, and stores nothing.

The CRDs name the operator's namespace, and its Deployments there the other objects, so that none of
these is assumed. What this user may not read is told, and what to grant.

Each check is one line: ok, warning, failed, unchecked (it could not be read), or skipped (it does not
apply, or takes rights that few users have), and what to do.

The exit code is 0 where nothing has failed, 1 where something has, and 2 where something is unchecked
or the command line is wrong.`,
		Example: strings.ReplaceAll(`  fairlead check
  fairlead check -n shop --context=production
  fairlead check --wait --timeout=5m
  fairlead check -o json`, "fairlead check", o.Program+" check"),
		Args: func(command *cobra.Command, args []string) error {
			if err := cobra.NoArgs(command, args); err != nil {
				return &exit{exitUnread, err}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error {
			write := check.Report.WriteText
			switch f.format {
			case checkText:
			case checkJSON:
				write = check.Report.WriteJSON
			default:
				return &exit{exitUnread, fmt.Errorf("check: --output %q: must be %s or %s", f.format, checkText, checkJSON)}
			}
			if f.timeout <= 0 {
				return &exit{exitUnread, fmt.Errorf("check: --timeout %s: must be greater than 0", f.timeout)}
			}
			report, err := f.run(command.Context())
			if err != nil {
				err = &exit{exitUnread, fmt.Errorf("check: %w", err)}
				if len(report.Results) == 0 {
					return err
				}
			}
			if failed := write(report, command.OutOrStdout()); failed != nil {
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
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &exit{exitUnread, fmt.Errorf("%w; `%s check --help` lists the flags", err, o.Program)}
	})
	set := command.Flags()
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster. Empty: KUBECONFIG, ~/.kube/config, or the pod's service account.")
	set.StringVar(&f.context, "context", "", "Context of the kubeconfig. Empty: the current one.")
	set.StringVarP(&f.namespace, "namespace", "n", "", "Namespace in which objects are created by a dry run; not the operator's own. Empty: that of the context.")
	set.StringVar(&f.operatorNamespace, "operator-namespace", "", "Namespace of the operator. Empty: the one that the CRDs name.")
	set.StringVarP(&f.format, "output", "o", f.format, "Output format. One of: text, json.")
	set.DurationVar(&f.timeout, "timeout", f.timeout, "How long all checks may take, with --wait all rounds of them.")
	set.BoolVar(&f.wait, "wait", f.wait, "Repeat the checks until none fails and none is unchecked, or the timeout is over.")
	complete(command, "output", checkText, checkJSON)
	completeBy(command, "context", f.contexts)
	return command
}

// run makes the checks in the cluster that the flags name.
func (f *checkFlags) run(parent context.Context) (check.Report, error) {
	api, found, err := f.config()
	if err != nil {
		return check.Report{}, err
	}
	api.UserAgent = "fairlead-check/" + version.Get().Version
	options := check.Options{Namespace: f.namespace, OperatorNamespace: f.operatorNamespace, Version: version.Version}
	if options.Namespace == "" {
		if options.Namespace, _, err = found.Namespace(); err != nil {
			return check.Report{}, fmt.Errorf("namespace of the dry runs: %w; give one with --namespace", err)
		}
	}
	if inCluster(api) {
		options.Dial = (&net.Dialer{}).DialContext
	}
	checker, err := check.NewForConfig(api, options)
	if err != nil {
		return check.Report{}, fmt.Errorf("reach the cluster: %w", err)
	}
	ctx, stop := signal.NotifyContext(parent, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("not done within %s: give it more with --timeout", f.timeout))
	defer cancel()
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
