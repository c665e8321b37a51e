// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/request"
)

// What --dry-run of the commands that request something may be.
const (
	dryRunNone   = "none"
	dryRunServer = "server"
)

// faults are the types of a fault.
var faults = []string{string(networkingv1.FaultBlackHole), string(networkingv1.FaultDrain), string(networkingv1.FaultFailOver)}

// defaultWait is how long --wait without a value waits.
const defaultWait = "20m"

// requestFlags are those of the commands that request something.
type requestFlags struct {
	clusterFlags
	dryRun string
	wait   time.Duration
	// span and endpoint are of a fault.
	span     time.Duration
	endpoint string
}

// verbs are the commands that request something, with what their help says.
var verbs = []struct{ name, short, long, example string }{
	{inspect.VerbRestart, "Restart every target of a RebootPolicy once.",
		"It ignores debounce, cooldown, retry delays and windows, and waits for everything else. With --wait, the\ncommand ends when the restart of each target was verified, or one has failed.",
		"rebootpolicy/payments -n shop --wait"},
	{inspect.VerbResume, "End the halt of a RebootPolicy or a ChaosPod.",
		"An object that has not halted is left alone. With --wait, the command ends when the halt has.",
		"chaospod/payments-api -n shop"},
	{inspect.VerbRun, "Begin one run of a ChaosPod.",
		"It waits for what a scheduled run waits for, except the schedule. With --wait, the command ends with the run,\nwhich has failed unless its target survived, or spec.dryRun is true.",
		"chaospod/payments-api -n shop --wait=5m"},
	{inspect.VerbFailback, "Have an ExternalService publish a more preferred priority again.",
		"It does not wait for failbackDelay, and is refused where no more preferred priority is healthy enough. With\n--wait, the command ends when the priority was published, or the failback was refused.",
		"externalservice/billing-db -n shop"},
	{inspect.VerbFault, "Inject a fault into an ExternalService, for a limited time.",
		"TYPE is BlackHole, Drain (of an --endpoint) or FailOver. With --wait, the command ends with the fault, which\nhas failed where it was ended before its time, or a workload that depends on it became unready.",
		"externalservice/billing-db BlackHole --for=10m -n shop"},
}

func requestCommands(o Options) (commands []*cobra.Command) {
	for _, v := range verbs {
		f := requestFlags{dryRun: dryRunNone}
		words := []string{request.Kinds(v.name)[0]}
		if kinds := request.Kinds(v.name); len(kinds) > 1 {
			words[0] = "{" + strings.Join(kinds, "|") + "}"
		}
		if v.name == inspect.VerbFault {
			words = append(words, "TYPE --for=DURATION")
		}
		command := &cobra.Command{
			Use:   v.name + " " + strings.Join(words, " "),
			Short: v.short,
			Long: v.short + "\n\n" + v.long + `

The command says what it will do, asks the API server whether this user may, and gives the object an
annotation with a new token, which the operator handles once. Nothing else of the object is changed. With
--dry-run=server, the API server and admission check it, and nothing is stored.

The exit code is 0 where it was requested and, with --wait, has succeeded; 1 where it was refused or has
failed; and 2 where it could not be requested, is not over in time, or the command line is wrong.`,
			Example: "  " + o.Program + " " + v.name + " " + v.example,
			RunE: func(command *cobra.Command, args []string) error {
				err := f.run(command.Context(), v.name, args, command.OutOrStdout())
				if refusal := request.Refusal(""); errors.As(err, &refusal) {
					return &exit{exitFindings, fmt.Errorf("%s: %w", v.name, err)}
				} else if err != nil {
					return &exit{exitUnread, fmt.Errorf("%s: %w; `%s %s --help` has examples", v.name, err, o.Program, v.name)}
				}
				return nil
			},
		}
		f.add(command, v.name, o)
		commands = append(commands, command)
	}
	return commands
}

// add gives a command the flags.
func (f *requestFlags) add(command *cobra.Command, verb string, o Options) {
	f.addCluster(command, o)
	set := command.Flags()
	set.StringVar(&f.dryRun, "dry-run", f.dryRun, "Whether nothing is stored. One of: none, server.")
	set.DurationVar(&f.wait, "wait", 0, "How long to wait for the end. 0: not at all; without a value "+defaultWait+".")
	set.Lookup("wait").NoOptDefVal = defaultWait
	complete(command, "dry-run", dryRunNone, dryRunServer)
	names := f.objects(1, request.Kinds(verb))
	command.ValidArgsFunction = names
	if verb == inspect.VerbFault {
		command.ValidArgsFunction = func(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return faults, cobra.ShellCompDirectiveNoFileComp
			}
			return names(command, args, word)
		}
		set.DurationVar(&f.span, "for", 0, "How long the fault lasts, from 1s to 1h. Required.")
		set.StringVar(&f.endpoint, "endpoint", "", "Endpoint that Drain takes out.")
		_ = command.RegisterFlagCompletionFunc("endpoint", f.endpoints) // the flag exists
	}
}

// run requests what a verb says.
func (f *requestFlags) run(parent context.Context, verb string, args []string, to io.Writer) error {
	r, err := f.parse(verb, args)
	if err != nil {
		return err
	}
	c, namespace, err := f.connect(verb)
	if err != nil {
		return err
	}
	r.Key.Namespace = namespace
	r.Say = func(text string) { _, _ = fmt.Fprintln(to, text+".") } // a reader that is gone does not undo the request
	ctx, stop := signal.NotifyContext(parent, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := r.Make(ctx, c); err != nil || f.wait == 0 || r.DryRun {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.wait, fmt.Errorf("not over within %s: give it more with --wait", f.wait))
	defer cancel()
	return r.Wait(ctx, c)
}

// parse reads the command line. It sends nothing.
func (f *requestFlags) parse(verb string, args []string) (*request.Request, error) {
	wanted := 1
	if verb == inspect.VerbFault {
		wanted = 2
	}
	switch {
	case len(args) != wanted:
		return nil, fmt.Errorf("give %d arguments, not %d: one object as %s, and for a fault its type", wanted, len(args), strings.Join(request.Kinds(verb), " or "))
	case f.dryRun != dryRunNone && f.dryRun != dryRunServer:
		return nil, fmt.Errorf("--dry-run %q: must be %s or %s", f.dryRun, dryRunNone, dryRunServer)
	case f.wait < 0:
		return nil, fmt.Errorf("--wait %s: must not be negative", f.wait)
	}
	key, err := inspect.ParseKey(args[0], "")
	if err != nil {
		return nil, err
	}
	r, err := request.New(verb, key, time.Now())
	if err != nil {
		return nil, err
	}
	r.DryRun = f.dryRun == dryRunServer
	if verb == inspect.VerbFault {
		r.Token, err = request.NewFault(args[1], f.span, f.endpoint, time.Now())
	}
	return r, err
}
