// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

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

What can be configured are the fields of a file (--config), by apiVersion ` + options.APIVersion + `,
kind ` + options.Kind + `. --set gives one of them on the command line, and overrides the file. The fields
that most often differ between clusters: namespaces, rebootPolicies.sources, rebootPolicies.maxRestarts,
egress.default, egress.clusterCIDRs, externalServices.nameservers, webhook.certificates.source.

A replica may leave one of both to others: with --set=controllers.enabled=false it only serves webhooks,
with --set=webhook.enabled=false it only reconciles.

SIGTERM or SIGINT stops in order: reconcilers, the Lease, the webhooks after their drain. A second
signal ends the process at once. /statusz of the probe server shows the phases of the start.`,
		Example: "  " + o.Program + " manager --config=fairlead.yaml\n" +
			"  " + o.Program + " manager --set=namespaces=[shop] --set=webhook.drainDelay=0s --log-level=debug",
		Args: noArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			configuration, err := flags.Configuration()
			if err != nil {
				return err
			}
			logger, level, err := operator.NewLogger(configuration.Logging, o.Logs)
			if err != nil {
				return err
			}
			operator.UseLogger(logger)
			panics.Contain()
			operator, err := operator.New(configuration, operator.Options{
				Logger: logger, LogLevel: level, Version: version.Get().Version, Dial: o.Dial, Reconciles: o.Reconciles, Clock: o.Clock,
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
		return &exit{exitUnread, fmt.Errorf("%w; `%s manager --help` lists the flags, and --set=FIELD=VALUE sets any other field", err, o.Program)}
	})
	command.Flags().SortFlags = false
	command.Flags().AddFlagSet(flags.FlagSet)
	complete(command, "log-level", "error", "info", "debug")
	complete(command, "log-format", "json", "text")
	completeBy(command, "set", cobra.FixedCompletions(assignments(), cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp))
	return command
}

// assignments returns the values of --set to complete: each field, with each word that it may have.
func assignments() []string {
	var all []string
	for _, field := range options.Fields() {
		words := []string{""}
		if strings.Contains(field.Rule, "|") {
			words = strings.Split(field.Rule, "|")
		}
		for _, word := range words {
			all = append(all, field.Path+"="+word)
		}
	}
	return all
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
