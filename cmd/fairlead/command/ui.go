// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/ui"
	"github.com/fairlead-dev/fairlead/internal/memory"
)

// uiGarbage is how much garbage there may be for each 100 bytes in use: the objects are most of the memory, and to collect it
// takes less time than a page needs.
const uiGarbage = 20

// uiFlags are those of the command.
type uiFlags struct {
	clusterFlags
	allNamespaces     bool
	operatorNamespace string
	port              int
}

func uiCommand(o Options) *cobra.Command {
	f := uiFlags{}
	command := &cobra.Command{
		Use:   "ui",
		Short: "Serve pages about the resources of Fairlead to this machine.",
		Long: `Serve pages about the resources of Fairlead to this machine, until you interrupt it: objects as a tree and as a graph,
why each is as it is, and what happened. Open the address that the command prints. The token in it is new each time,
and gives a reader what you can see.

The command lists each kind once and watches it, with your permissions. It writes and installs nothing. Each page
reports what you cannot read.

Exit code 0: you interrupted it. 2: the API server does not answer at first, the port is in use, or the command line
is wrong.`,
		Example: strings.ReplaceAll(`  fairlead ui -n shop
  fairlead ui -A --port=8088`, "fairlead ui", o.Program+" ui"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &exit{exitUnread, fmt.Errorf("ui: takes no arguments, not %q: select a namespace with -n", args[0])}
			}
			return nil
		},
		RunE:              unread(func(command *cobra.Command, _ []string) error { return f.run(command) }),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.addCluster(command, o)
	set := command.Flags()
	set.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "Show all namespaces.")
	set.IntVar(&f.port, "port", 0, "Port to listen on, at 127.0.0.1. 0: any free port.")
	addOperatorNamespace(command, &f.operatorNamespace)
	return command
}

func (f *uiFlags) run(command *cobra.Command) error {
	if f.port < 0 || f.port > 65535 {
		return fmt.Errorf("--port %d: must be from 0 to 65535", f.port)
	}
	reader, namespace, err := f.connect("ui")
	if err != nil {
		return err
	}
	if f.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	memory.SetGCPercent(uiGarbage)
	go memory.ReleaseWhenIdle(clock.RealClock{})(ctx) //nolint:errcheck // it has none
	server := ui.NewServer(ui.Options{
		From: reader, Cluster: f.currentContext(), Namespace: namespace, OperatorNamespace: f.operatorNamespace, Port: f.port,
	})
	return server.Run(ctx, func(address string) {
		_, _ = fmt.Fprintf(command.OutOrStdout(), "Open %s\nEnd with Ctrl-C.\n", address)
	})
}
