// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/elect"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
	"github.com/fairlead-dev/fairlead/internal/apitransport"
)

// electFlags are those of the manager, by the same names, and a few of its own.
type electFlags struct {
	kubeconfig, namespace, name, id string
	lease, renew, retry, grace      time.Duration
	quiet, guard                    bool
}

// electing is a list, since not every system has the command.
func electing(o Options) []*cobra.Command { return []*cobra.Command{Elect(o)} }

// Elect is `fairlead elect`.
func Elect(o Options) *cobra.Command {
	o = o.withDefaults()
	var f electFlags
	command := &cobra.Command{
		Use:   "elect --lease-lock-name NAME [flags] -- COMMAND [ARGS...]",
		Short: "Run any command only while holding a Lease.",
		Long: `Run COMMAND only while holding a Lease. If you start it on many machines, one runs at a time. When it exits, the next
one starts.

COMMAND exits before another process can take the Lease. If the Lease cannot be renewed, COMMAND gets SIGTERM at the
renew deadline and SIGKILL --grace later. It gets SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 that this
process gets. Nothing of it stays running, even if this process is killed. The Lease is released when it exits.

The exit code is that of COMMAND, or 128 and the number of the signal that ended it or the wait. 124: the Lease was
lost. 125: elect failed, or its command line is wrong. 126, 127: COMMAND cannot be started or found.

The environment of COMMAND has its Lease and a fencing token: FAIRLEAD_LEASE_NAMESPACE, FAIRLEAD_LEASE_NAME,
FAIRLEAD_LEASE_HOLDER, FAIRLEAD_LEASE_TRANSITIONS, FAIRLEAD_FENCING_TOKEN.`,
		Example: "  " + o.Program + " elect --lease-lock-name=importer -- /opt/shop/importer --follow",
		Args: func(command *cobra.Command, args []string) error {
			if f.guard || len(args) > 0 && command.ArgsLenAtDash() == 0 {
				return nil
			}
			return &exit{elect.CodeFailed, errors.New("give the command after --, as in `" + o.Program + " elect --lease-lock-name=NAME -- COMMAND`")}
		},
		RunE: func(command *cobra.Command, args []string) error {
			code, err := f.run(command.Context(), o, args)
			switch {
			case err != nil:
				return &exit{code, fmt.Errorf("elect: %w", err)}
			case code != 0:
				return &exit{code: code}
			default:
				return nil
			}
		},
	}
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &exit{elect.CodeFailed, fmt.Errorf("%w; `%s elect --help` lists the flags", err, o.Program)}
	})
	f.declare(command)
	return command
}

func (f *electFlags) declare(command *cobra.Command) {
	usual, set := options.Default().LeaderElection, command.Flags()
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster. Empty: KUBECONFIG, ~/.kube/config, or the pod's service account.")
	set.StringVar(&f.name, "lease-lock-name", "", "Name of the Lease. Required: processes that use the same one take turns.")
	set.StringVar(&f.namespace, "lease-lock-namespace", "", "Namespace of the Lease. Empty: that of the pod, or of the kubeconfig's context.")
	set.StringVar(&f.id, "id", "", "Identity of this candidate; unique. Empty: host name and a random part.")
	set.DurationVar(&f.lease, "leader-elect-lease-duration", usual.LeaseDuration.Duration, "How long candidates wait for a silent holder before they take over; whole seconds.")
	set.DurationVar(&f.renew, "leader-elect-renew-deadline", usual.RenewDeadline.Duration, "How long after the last renewal the command gets SIGTERM.")
	set.DurationVar(&f.retry, "leader-elect-retry-period", usual.RetryPeriod.Duration, "Time between renewals. Candidates read the Lease every 1 to 2.2 of it.")
	set.DurationVar(&f.grace, "grace", 3*time.Second, fmt.Sprintf("How long the command may take to end after SIGTERM when the Lease is lost. With the renew deadline at most the lease duration less %s.", elect.Margin))
	set.BoolVar(&f.quiet, "quiet", false, "Log errors only.")
	set.BoolVar(&f.guard, "guard", false, "Start the command for another process of elect. For internal use.")
	_ = set.MarkHidden("guard") // it exists
	// What follows the command is its own, also where it looks like a flag.
	set.SetInterspersed(false)
}

// run is elect, or its guard.
func (f *electFlags) run(ctx context.Context, o Options, command []string) (int, error) {
	logging := options.Default().Logging
	if logging.Format = "text"; f.quiet {
		logging.Level = "error"
	}
	logger, _, err := operator.NewLogger(logging, o.Logs)
	if err != nil {
		return elect.CodeFailed, err
	}
	if f.guard {
		return elect.GuardMain(logger, command)
	}
	operator.UseLogger(logger)
	r, err := f.runner(logger, command)
	if err != nil {
		return elect.Code(err), err
	}
	return r.Run(ctx)
}

// runner assembles what the flags say. It sends nothing.
func (f *electFlags) runner(logger logr.Logger, command []string) (*elect.Runner, error) {
	if f.name == "" {
		return nil, errors.New("--lease-lock-name is required: the Lease that candidates share")
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	found := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	api, err := found.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	if f.namespace == "" {
		if f.namespace, _, err = found.Namespace(); err != nil {
			return nil, fmt.Errorf("namespace of the Lease: %w; give one with --lease-lock-namespace", err)
		}
	}
	api.UserAgent, api.QPS = "fairlead-elect/"+version.Get().Version, -1
	if api, _, err = apitransport.ForConfig(api, apitransport.Options{Patience: f.retry}); err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return nil, err
	}
	if f.id == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("identity: %w; give one with --id", err)
		}
		f.id = host + "_" + string(uuid.NewUUID())
	}
	return elect.New(elect.Options{
		Leases: client.CoordinationV1(), Namespace: f.namespace, Name: f.name, Identity: f.id,
		LeaseDuration: f.lease, RenewDeadline: f.renew, RetryPeriod: f.retry, Grace: f.grace,
		Command: command, Logger: logger,
		// This path is of the running program also where its file was replaced.
		Guard: []string{"/proc/self/exe", "elect", "--guard", fmt.Sprintf("--quiet=%t", f.quiet), "--"},
	})
}
