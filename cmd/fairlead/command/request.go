// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/request"
)

// dryRuns are what --dry-run may be.
var dryRuns = []string{string(request.DryRunNone), string(request.DryRunClient), string(request.DryRunServer)}

// faults are the types of a fault.
var faults = []string{string(networkingv1.FaultBlackHole), string(networkingv1.FaultDrain), string(networkingv1.FaultFailOver)}

// defaultWait is how long --wait without a value waits.
const defaultWait = "20m"

// requestFlags are those of the commands that request something.
type requestFlags struct {
	clusterFlags
	dryRun string
	wait   time.Duration
	print  *genericclioptions.PrintFlags
	// span and endpoint are of a fault.
	span     time.Duration
	endpoint string
	// undo is of a drain and of a fault.
	undo bool
	// id is of an approval.
	id string
	// workload is what a restart is of, where that is no policy.
	workload *inspect.Key
	program  string
	// secret is of a rotation.
	secret string
}

// The verbs that no annotation of an object of Fairlead requests.
const (
	verbSuspend  = "suspend"
	verbResume   = "resume"
	verbDrain    = "drain"
	verbRotateCA = "rotate-ca"
)

// What the help of a verb says about how it acts.
const (
	byToken = `The command prints what it does, checks your permissions, and sets an annotation, which the operator handles
once. It changes nothing else in the object.`
	byID = `The command prints what it does, checks your permissions, and sets an annotation to the id of what waits. It
changes nothing else in the object.`
	bySuspend = `The command prints what it does, checks your permissions, and changes spec.suspend. A tool that applies the
manifest from Git changes it back: change it there too.`
	byState = `The command prints what it does, checks your permissions, and changes the state of the endpoint. A tool that
applies the manifest from Git changes it back: change it there too, or use a fault, which ends by itself.`
)

// requestExits are the exit codes of the verbs.
const requestExits = `Exit code 0: the request is made and, with --wait, it succeeded. 1: it is refused, or it failed. 2: it could not
be made, it timed out, or the command line is wrong.`

// verbs are the commands that request something, in the order of help, with what their help says.
var verbs = []struct{ name, short, long, by, example string }{
	{inspect.VerbRestart, "Restart the workloads of a RebootPolicy, or one workload.",
		`Ignores debounce, cooldown, retry backoff and windows. Blackouts, gates, concurrency, dry run, halt and suspend
still apply. With --wait, ends when the restart of each workload is verified, or one failed.

WORKLOAD is deployment, statefulset, daemonset or rollout. The request goes to the RebootPolicy that restarts
the workload, which must restart no other one.`, byToken, "deployment/web -n shop --wait"},
	{inspect.VerbRetry, "End the halt of a RebootPolicy or a ChaosPod.",
		"With --wait, ends when the halt has ended.", byToken, "chaospod/payments-api -n shop"},
	{verbSuspend, "Suspend an ExternalService, a RebootPolicy or a ChaosPod.",
		`A suspended RebootPolicy starts no restart, and a suspended ChaosPod no run. A suspended ExternalService keeps what
it has published, and checks nothing. With --wait, ends when the operator has observed it.`, bySuspend, "rebootpolicy/payments -n shop"},
	{verbResume, "Resume an ExternalService, a RebootPolicy or a ChaosPod that is suspended.",
		"To end a halt, use retry. With --wait, ends when the operator has observed it.", bySuspend, "rebootpolicy/payments -n shop"},
	{inspect.VerbApprove, "Approve the restarts of a RebootPolicy that wait for it.",
		`Restarts wait for approval if spec.gates has a gate of type Approval. You need the permissions to patch and to
approve the policy. Approves what waits now, and nothing that comes later. With --id, approves nothing if what
waits has changed. With --wait, ends when the operator has handled the approval.`, byID, "rebootpolicy/payments -n shop --id=3f2a9c0d5b7e8114"},
	{inspect.VerbRun, "Start one run of a ChaosPod.",
		`Ignores the schedule. Windows, blackouts, safety, halt and suspend still apply. With --wait, ends with the run. The
run failed if its target did not recover, unless spec.dryRun is true.`, byToken, "chaospod/payments-api -n shop --wait=5m"},
	{inspect.VerbFault, "Inject a fault into an ExternalService, for a limited time.",
		`TYPE is BlackHole, Drain (of an --endpoint) or FailOver. With --wait, ends with the fault. The fault failed if it
ended early, or if a workload that depends on it became unready. To end a fault, give --undo and no TYPE.`, byToken,
		"externalservice/billing-db BlackHole --for=10m -n shop"},
	{inspect.VerbFailback, "Fail an ExternalService back to a more preferred priority.",
		`Ignores failbackDelay. Refused if no more preferred priority is healthy enough. With --wait, ends when the priority
is published, or the failback is refused.`, byToken, "externalservice/billing-db -n shop"},
	{verbDrain, "Take an endpoint of an ExternalService out of service.",
		`The endpoint stays in the spec with the state Drained, until you run the command with --undo. With --wait, ends when
the operator has carried it out, and fails if the ExternalService is not ready then.`, byState, "externalservice/billing-db primary -n shop --wait"},
	{verbRotateCA, "Replace the root of the operator's own certificate authority.",
		`For webhook.certificates.source selfSigned. The rotation takes some minutes. With --wait, ends when the new root
signs and API servers trust it. You need the permissions to get and patch the Secret, and with --wait to watch
it. The command reads only the metadata of the Secret.`, byToken, "--wait"},
}

// lower returns words in lower case.
func lower(words []string) (all []string) {
	for _, word := range words {
		all = append(all, strings.ToLower(word))
	}
	return all
}

// objectsOf are the objects that a verb is of, each as TYPE/NAME.
func objectsOf(verb string) []string {
	switch verb {
	case verbSuspend, verbResume:
		return argumentsOf(request.Suspendable)
	case verbDrain:
		return argumentsOf([]string{inspect.ExternalService})
	case inspect.VerbRestart:
		return append(request.Kinds(verb), argumentsOf(inspect.Workloads())...)
	}
	return request.Kinds(verb)
}

func argumentsOf(kinds []string) (all []string) {
	for _, kind := range kinds {
		all = append(all, strings.ToLower(kind)+"/NAME")
	}
	return all
}

// arguments are those that a verb takes, as its help names them.
func arguments(verb string) []string {
	objects := objectsOf(verb)
	switch verb {
	case verbRotateCA:
		return nil
	case inspect.VerbRestart:
		objects = append(request.Kinds(verb), "WORKLOAD/NAME")
	}
	all := objects
	if len(objects) > 1 {
		all = []string{"{" + strings.Join(objects, "|") + "}"}
	}
	switch verb {
	case inspect.VerbFault:
		return append(all, "TYPE")
	case verbDrain:
		return append(all, "ENDPOINT")
	}
	return all
}

func requestCommands(o Options) (commands []*cobra.Command) {
	for _, v := range verbs {
		f := requestFlags{dryRun: string(request.DryRunNone), program: o.Program, print: genericclioptions.NewPrintFlags("")}
		words := append([]string{v.name}, arguments(v.name)...)
		if v.name == inspect.VerbFault {
			words = append(words, "--for=DURATION")
		}
		command := &cobra.Command{
			Use:     strings.Join(words, " "),
			Hidden:  v.name == verbRotateCA, // few clusters need it, and the guide of certificates says when
			Short:   v.short,
			Long:    v.short + "\n\n" + v.long + "\n\n" + v.by + "\n\n" + requestExits,
			Example: "  " + o.Program + " " + v.name + " " + v.example,
			RunE: func(command *cobra.Command, args []string) error {
				err := f.run(command, v.name, args)
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
	f.print.AddFlags(command)
	set := command.Flags()
	hidePrinting(set)
	set.Lookup("output").Usage += " Prints the object to the standard output, and messages to the standard error."
	set.StringVar(&f.dryRun, "dry-run", f.dryRun, `Must be "none", "client" or "server". If "client", print what the request does, without sending it. If "server", submit the request without persisting it.`)
	set.DurationVar(&f.wait, "wait", 0, "How long to wait for the end. 0: do not wait. Without a value: "+defaultWait+".")
	set.Lookup("wait").NoOptDefVal = defaultWait
	complete(command, "output", "json", "yaml", "name", "jsonpath=", "go-template=")
	complete(command, "dry-run", dryRuns...)
	command.ValidArgsFunction = f.objects(1, objectsOf(verb))
	switch verb {
	case verbRotateCA:
		*f.Namespace = operatorNamespace
		namespace := set.Lookup("namespace")
		namespace.DefValue, namespace.Usage = *f.Namespace, "Namespace of the operator."
		set.StringVar(&f.secret, "secret", "fairlead-webhook-ca", "Secret of the root, webhook.certificates.secretName of the configuration.")
		command.ValidArgsFunction = cobra.NoFileCompletions
	case verbDrain:
		set.BoolVar(&f.undo, "undo", false, "Set the state of the endpoint to Active again.")
		command.ValidArgsFunction = f.second(command.ValidArgsFunction, f.endpoints)
	case inspect.VerbApprove:
		set.StringVar(&f.id, "id", "", "The id to approve, from status.pendingApproval of the policy. Empty: what waits now.")
	case inspect.VerbFault:
		command.ValidArgsFunction = f.second(command.ValidArgsFunction, cobra.FixedCompletions(faults, cobra.ShellCompDirectiveNoFileComp))
		set.DurationVar(&f.span, "for", 0, "How long the fault lasts, from 1s to 1h. Required without --undo.")
		set.BoolVar(&f.undo, "undo", false, "End the current fault.")
		set.StringVar(&f.endpoint, "endpoint", "", "Endpoint that a fault of type Drain takes out of service.")
		completeBy(command, "endpoint", f.endpoints)
	}
}

// run requests what a verb says.
func (f *requestFlags) run(command *cobra.Command, verb string, args []string) error {
	r, err := f.parse(verb, args)
	if err != nil {
		return err
	}
	to, show := command.OutOrStdout(), func(client.Object) error { return nil }
	if f.print.OutputFlagSpecified() || *f.print.TemplatePrinterFlags.TemplateArgument != "" {
		printer, err := f.print.ToPrinter()
		if err != nil {
			return fmt.Errorf("--output: %w", err)
		}
		to, show = command.ErrOrStderr(), func(o client.Object) error { return printer.PrintObj(o, command.OutOrStdout()) }
	}
	ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	c, namespace, err := f.connect(verb)
	if err != nil {
		return err
	}
	r.Key.Namespace = namespace
	if f.workload != nil {
		f.workload.Namespace = namespace
		if r.Key, err = request.PolicyOf(ctx, c, *f.workload, f.program); err != nil {
			return err
		}
	}
	r.Say = func(text string) { _, _ = fmt.Fprintln(to, text+".") } // a reader that is gone does not undo the request
	if err = r.Make(ctx, c); err == nil && f.wait > 0 && r.DryRun == request.DryRunNone {
		ctx, cancel := context.WithTimeoutCause(ctx, f.wait, fmt.Errorf("timed out after %s; use a longer --wait", f.wait))
		defer cancel()
		err = r.Wait(ctx, c)
	}
	if after := r.Object(); after != nil {
		err = errors.Join(err, show(after))
	}
	return err
}

// second completes the first argument by one function, and the second by another.
func (f *requestFlags) second(first, second cobra.CompletionFunc) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if object := withSlash(args); len(object) == 1 && strings.Contains(object[0], "/") {
			return second(command, args, word)
		}
		return first(command, args, word)
	}
}

// parse reads the command line. It sends nothing.
func (f *requestFlags) parse(verb string, args []string) (*request.Request, error) {
	wanted := arguments(verb)
	if len(wanted) > 0 {
		args = withSlash(args)
	}
	isEnd := verb == inspect.VerbFault && f.undo
	if isEnd {
		wanted = wanted[:1]
	}
	switch {
	case isEnd && (f.span != 0 || f.endpoint != ""):
		return nil, errors.New("--undo takes neither --for nor --endpoint: it ends the current fault")
	case len(args) != len(wanted):
		return nil, fmt.Errorf("give %d arguments, not %d: %s", len(wanted), len(args), strings.Join(append([]string{verb}, wanted...), " "))
	case !slices.Contains(dryRuns, f.dryRun):
		return nil, fmt.Errorf(`--dry-run %q: must be "none", "client" or "server"`, f.dryRun)
	case f.wait < 0:
		return nil, fmt.Errorf("--wait %s: must not be negative", f.wait)
	}
	r, err := f.request(verb, args)
	if err == nil {
		r.DryRun = request.DryRun(f.dryRun)
	}
	return r, err
}

// request returns what the arguments request. Their number is right.
func (f *requestFlags) request(verb string, args []string) (*request.Request, error) {
	if verb == verbRotateCA {
		return request.NewRotation(*f.Namespace, f.secret, time.Now()), nil
	}
	key, err := inspect.ParseKey(args[0], "")
	switch {
	case err != nil:
		return nil, err
	case verb == inspect.VerbRestart && inspect.IsWorkload(key.Kind):
		f.workload = &key
		return request.New(verb, inspect.Key{Kind: inspect.RebootPolicy}, time.Now())
	case verb == verbSuspend, verb == verbResume:
		return request.NewSuspend(key, verb == verbSuspend)
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
