// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// Manager is `fairlead manager`.
func Manager(o Options) *cobra.Command {
	o = o.withDefaults()
	flags := options.NewFlags()
	command := &cobra.Command{
		Use:   "manager",
		Short: "Run the operator: webhooks on every replica, reconcilers on the one that leads.",
		Long: `Run the operator: webhooks on every replica, reconcilers on the one that leads.

A configuration file (--config) may say everything that the flags say, by apiVersion
` + options.APIVersion + `, kind ` + options.Kind + `. Flags override the file.

A replica may leave one of both to others: with --controllers=false it only serves webhooks, with
--webhooks=false it only reconciles.

SIGTERM or SIGINT stops in order: reconcilers, the Lease, the webhooks after their drain. A second
signal ends the process at once. /statusz of the probe server shows the phases of the start.

The flags that most often differ between clusters: --config, --namespaces, --sources, --egress-default,
--dns-nameservers, --cluster-cidrs, --max-restarts, --webhook-certificates, --log-level.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			configuration, err := flags.Configuration()
			if err != nil {
				return err
			}
			logger, err := operator.NewLogger(configuration.Logging, o.Logs)
			if err != nil {
				return err
			}
			operator.UseLogger(logger)
			panics.Contain()
			operator, err := operator.New(configuration, operator.Options{
				Logger: logger, Version: version.Get().Version, Dial: o.Dial, Reconciles: o.Reconciles, Clock: o.Clock,
				Metrics: o.Metrics, Silence: o.Silence,
			})
			if err != nil {
				return err
			}
			ctx, stop := untilSignal(command.Context())
			defer stop()
			return operator.Run(ctx)
		},
	}
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w; `%s manager --help` lists the flags", err, o.Program)
	})
	for _, group := range flags.Groups.FlagSets {
		command.Flags().AddFlagSet(group)
	}
	for name, values := range map[string][]string{
		"log-level": {"error", "info", "debug"}, "log-format": {"json", "text"},
		"webhook-certificates": {options.SourceSelfSigned, options.SourceCertManager, options.SourceFolder},
		"leader-elect-mode":    {options.ElectionLease, options.ElectionForLife},
		"egress-default":       {options.EgressAllow, options.EgressDeny},
		"sources":              {options.SourcesWatch, options.SourcesPoll},

		"webhook-tls-min-version": {"VersionTLS12", "VersionTLS13"},
	} {
		complete(command, name, values...)
	}
	cliflag.SetUsageAndHelpFunc(command, flags.Groups, 0)
	return command
}

// untilSignal ends the context on the first SIGTERM or SIGINT, and the process on the second.
func untilSignal(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
			return
		}
		<-signals
		os.Exit(1) //nolint:forbidigo // the second signal asks for no orderly end
	}()
	return ctx, cancel
}
