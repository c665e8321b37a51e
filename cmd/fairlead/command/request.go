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

	"github.com/fairlead-dev/fairlead/api/common"
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
	// undo is of a drain and of a fault.
	undo bool
	// id is of an approval.
	id string
	// secret is of a rotation.
	secret string
}

// The verbs that no annotation of an object of Fairlead requests.
const (
	verbDrain    = "drain"
	verbRotateCA = "rotate-ca"
)

// verbs are the commands that request something, with what their help says.
var verbs = []struct{ name, short, long, example string }{
	{inspect.VerbRestart, "Restart every target of a RebootPolicy once.",
		"It ignores debounce, cooldown, retry delays and windows, and waits for everything else. With --wait, the\ncommand ends when the restart of each target was verified, or one has failed.",
		"rebootpolicy/payments -n shop --wait"},
	{inspect.VerbRetry, "End the halt of a RebootPolicy or a ChaosPod.",
		"An object that has not halted is left alone. With --wait, the command ends when the halt has.",
		"chaospod/payments-api -n shop"},
	{inspect.VerbApprove, "Approve the restarts of a RebootPolicy that wait for it.",
		"They wait where spec.gates has one of type Approval. It takes the right to approve the policy, beside patch. It\napproves what waits now and nothing that comes later; with --id, nothing if what waits has changed since. With\n--wait, the command ends when the operator has taken the approval.",
		"rebootpolicy/payments -n shop --id=3f2a9c0d5b7e8114"},
	{inspect.VerbRun, "Begin one run of a ChaosPod.",
		"It waits for what a scheduled run waits for, except the schedule. With --wait, the command ends with the run,\nwhich has failed unless its target survived, or spec.dryRun is true.",
		"chaospod/payments-api -n shop --wait=5m"},
	{inspect.VerbFailback, "Have an ExternalService publish a more preferred priority again.",
		"It does not wait for failbackDelay, and is refused where no more preferred priority is healthy enough. With\n--wait, the command ends when the priority was published, or the failback was refused.",
		"externalservice/billing-db -n shop"},
	{inspect.VerbFault, "Inject a fault into an ExternalService, for a limited time.",
		"TYPE is BlackHole, Drain (of an --endpoint) or FailOver. With --wait, the command ends with the fault, which\nhas failed where it was ended before its time, or a workload that depends on it became unready. With --undo and\nno TYPE, the fault that lasts is ended.",
		"externalservice/billing-db BlackHole --for=10m -n shop"},
	{verbDrain, "Take an endpoint of an ExternalService out of service.",
		"The endpoint stays in the spec with the state Drained, until --undo. A tool that applies the manifest from Git\nputs its state back: change it there too, or use a fault, which ends by itself. With --wait, the command ends\nwhen the operator has carried it out, and fails where the ExternalService is not ready then.",
		"externalservice/billing-db primary -n shop --wait"},
	{verbRotateCA, "Replace the root of the operator's own certificate authority.",
		"It is for webhook.certificates.source selfSigned. The rotation takes some minutes; with --wait, the command ends\nwhen the new root signs and API servers trust it. It takes the right to get and patch the Secret, of which only\nthe metadata is read, and with --wait to watch it. The namespace is that of the operator.",
		"--wait"},
}

// arguments are those that a verb takes, as its help names them.
func arguments(verb string) []string {
	switch verb {
	case inspect.VerbFault:
		return append(request.Kinds(verb), "TYPE")
	case verbDrain:
		return []string{request.Kinds(inspect.VerbFault)[0], "ENDPOINT"}
	case verbRotateCA:
		return nil
	}
	return []string{strings.Join(request.Kinds(verb), "|")}
}

func requestCommands(o Options) (commands []*cobra.Command) {
	for _, v := range verbs {
		f := requestFlags{dryRun: dryRunNone}
		words := append([]string{v.name}, arguments(v.name)...)
		switch {
		case v.name == inspect.VerbFault:
			words = append(words, "--for=DURATION")
		case len(words) > 1 && strings.Contains(words[1], "|"):
			words[1] = "{" + words[1] + "}"
		}
		does := `gives the object an
annotation with a new token, which the operator handles once. Nothing else of the object is changed.`
		switch v.name {
		case inspect.VerbApprove:
			does = `gives the object an
annotation with the id of what waits, which the operator handles once. Nothing else of the object is changed.`
		case verbDrain:
			does = `changes the state of
the endpoint. Nothing else of the object is changed.`
		}
		command := &cobra.Command{
			Use:   strings.Join(words, " "),
			Short: v.short,
			Long: v.short + "\n\n" + v.long + `

The command says what it will do, asks the API server whether this user may, and ` + does + ` With
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
	command.ValidArgsFunction = f.objects(1, request.Kinds(verb))
	switch verb {
	case verbRotateCA:
		f.namespace = operatorNamespace
		namespace := set.Lookup("namespace")
		namespace.DefValue, namespace.Usage = f.namespace, "Namespace of the operator."
		set.StringVar(&f.secret, "secret", "fairlead-webhook-ca", "Secret of the root, webhook.certificates.secretName of the configuration.")
		command.ValidArgsFunction = cobra.NoFileCompletions
	case verbDrain:
		set.BoolVar(&f.undo, "undo", false, "Give the endpoint the state Active again.")
		command.ValidArgsFunction = f.second(f.objects(1, request.Kinds(inspect.VerbFault)), f.endpoints)
	case inspect.VerbApprove:
		set.StringVar(&f.id, "id", "", "What is approved, status.pendingApproval of the policy. By default what waits now.")
	case inspect.VerbFault:
		command.ValidArgsFunction = f.second(command.ValidArgsFunction, cobra.FixedCompletions(faults, cobra.ShellCompDirectiveNoFileComp))
		set.DurationVar(&f.span, "for", 0, "How long the fault lasts, from 1s to 1h. Required without --undo.")
		set.BoolVar(&f.undo, "undo", false, "End the fault that lasts.")
		set.StringVar(&f.endpoint, "endpoint", "", "Endpoint that Drain takes out.")
		completeBy(command, "endpoint", f.endpoints)
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

// second completes the first argument by one function, and the second by another.
func (f *requestFlags) second(first, second cobra.CompletionFunc) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return second(command, args, word)
		}
		return first(command, args, word)
	}
}

// parse reads the command line. It sends nothing.
func (f *requestFlags) parse(verb string, args []string) (*request.Request, error) {
	wanted := arguments(verb)
	isEnd := verb == inspect.VerbFault && f.undo
	if isEnd {
		wanted = wanted[:1]
	}
	switch {
	case isEnd && (f.span != 0 || f.endpoint != ""):
		return nil, errors.New("--undo takes neither --for nor --endpoint: it ends the fault that lasts")
	case len(args) != len(wanted):
		return nil, fmt.Errorf("give %d arguments, not %d: %s", len(wanted), len(args), strings.Join(append([]string{verb}, wanted...), " "))
	case f.dryRun != dryRunNone && f.dryRun != dryRunServer:
		return nil, fmt.Errorf("--dry-run %q: must be %s or %s", f.dryRun, dryRunNone, dryRunServer)
	case f.wait < 0:
		return nil, fmt.Errorf("--wait %s: must not be negative", f.wait)
	}
	r, err := f.request(verb, args)
	if err == nil {
		r.DryRun = f.dryRun == dryRunServer
	}
	return r, err
}

// request returns what the arguments request. Their number is right.
func (f *requestFlags) request(verb string, args []string) (*request.Request, error) {
	if verb == verbRotateCA {
		return request.NewRotation(f.namespace, f.secret, time.Now()), nil
	}
	key, err := inspect.ParseKey(args[0], "")
	switch {
	case err != nil:
		return nil, err
	case verb == verbDrain && key.Kind != inspect.ExternalService:
		return nil, fmt.Errorf("%s has no endpoints: name an ExternalService", key.Kind)
	case verb == verbDrain && f.undo:
		return request.NewDrain(key, args[1], networkingv1.EndpointActive), nil
	case verb == verbDrain:
		return request.NewDrain(key, args[1], networkingv1.EndpointDrained), nil
	}
	r, err := request.New(verb, key, time.Now())
	if err == nil && verb == inspect.VerbFault && f.undo {
		return request.NewFaultEnd(key), nil
	}
	if verb == inspect.VerbApprove && err == nil && f.id != "" {
		r.Token = common.Token(f.id)
	}
	if err == nil && verb == inspect.VerbFault {
		r.Token, err = request.NewFault(args[1], f.span, f.endpoint, time.Now())
	}
	return r, err
}
