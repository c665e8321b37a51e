// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/migrate"
)

// migrateFlags are those of `fairlead migrate`.
type migrateFlags struct {
	inputFlags
	options      migrate.Options
	ports        []string
	plan, strict bool
	perWorkload  bool
}

func migrateCommand(o Options) *cobra.Command {
	command := &cobra.Command{
		Use:   "migrate PEER {FILE|FOLDER|-}... | migrate PEER --live",
		Short: "Write Fairlead's objects for what another project does today.",
		Long: `Write Fairlead's objects for what another project does today. The command reads objects from manifests or, with
--live, from a cluster with your permissions. It writes to neither.

The command prints the plan to the standard error: what each object becomes, what differs, what it cannot carry over,
and the steps of the move. It prints the objects to the standard output as YAML, with comments that name their
origin. It drops nothing silently. If a part that it cannot carry over would widen what an object does, it suspends
the object. The output passes fairlead vet, and is the same for the same input, also if that holds an earlier output.`,
		Args:                  known(o),
		RunE:                  func(command *cobra.Command, _ []string) error { return command.Help() },
		DisableFlagsInUseLine: true,
	}
	for _, peer := range migrate.Peers() {
		command.AddCommand(migratePeerCommand(o, peer))
	}
	return command
}

func migratePeerCommand(o Options, peer *migrate.Peer) *cobra.Command {
	f := migrateFlags{inputFlags: newInputFlags()}
	use := peer.Name + " {FILE|FOLDER|-}... | " + peer.Name + " --live"
	sentence := "Write " + plural(peer.Into) + " for " + peer.Title + "."
	if peer.PerWorkload != nil {
		sentence = "Write a " + peer.Into + " for " + peer.Title + "."
	}
	command := &cobra.Command{
		Use:   use,
		Short: sentence,
		Long: sentence + "\n\n" + `Exit code 0: everything is migrated. 1: something cannot be migrated or, with --strict, was not carried over. 2:
something cannot be read, or the command line is wrong.`,
		Example:               fmt.Sprintf("  %s migrate %s manifests/ > fairlead.yaml", o.Program, peer.Name),
		DisableFlagsInUseLine: true,
		RunE: func(command *cobra.Command, arguments []string) error {
			err := f.run(command, append(arguments, f.files...), peer)
			if coded := (*exit)(nil); err == nil || errors.As(err, &coded) {
				return err
			}
			return &exit{exitUnread, fmt.Errorf("migrate %s: %w", peer.Name, err)}
		},
	}
	f.declare(command, "read", o)
	set := command.Flags()
	set.BoolVar(&f.plan, "plan", false, "Print the plan alone, to the standard output.")
	set.BoolVar(&f.strict, "strict", false, "Exit with 1 when something was not carried over.")
	if peer.PerWorkload != nil {
		set.BoolVar(&f.perWorkload, "per-workload", false, "Write a "+peer.PerWorkload.Into+" for each workload, so that the annotations can be removed.")
	}
	for _, flag := range peer.Flags {
		switch flag {
		case "name-suffix":
			set.StringVar(&f.options.NameSuffix, flag, "", "Suffix of the names of the objects, such as -external, to create them beside the old Services.")
		case "pace":
			set.StringVar((*string)(&f.options.Pace), flag, string(migrate.PaceReloader),
				"How soon a change restarts workloads. One of: "+paces()+". With reloader, at once. "+
					"With careful, one workload of a namespace at a time.")
		case "port":
			set.StringSliceVar(&f.ports, flag, nil, "Ports of Services that name none, as NAME:NUMBER or NAME:NUMBER/PROTOCOL, such as postgres:5432.")
		}
	}
	return command
}

// plural of a kind, or of several.
func plural(kind string) string {
	if stem, is := strings.CutSuffix(kind, "y"); is {
		return stem + "ies"
	}
	return kind + "s"
}

func (f *migrateFlags) run(command *cobra.Command, arguments []string, peer *migrate.Peer) error {
	if err := f.complete(command, arguments); err != nil {
		return err
	}
	if f.perWorkload {
		peer = peer.PerWorkload
	} else if peer.PerWorkload != nil && *f.Namespace != "" {
		f.options.Namespaces = []string{*f.Namespace}
	}
	var err error
	if f.options.Pace != "" && !slices.Contains(migrate.Paces(), f.options.Pace) {
		return fmt.Errorf("--pace %q: must be one of: %s", f.options.Pace, paces())
	}
	if f.options.Ports, err = parsePorts(f.ports); err != nil {
		return err
	}
	ctx, stop := untilSignal(command.Context())
	defer stop()
	skipped := 0
	var source migrate.Source = migrate.Files{Arguments: arguments, Options: f.inputFlags.options(command, &skipped)}
	if f.live {
		c, err := f.reach("migrate", nil)
		if err != nil {
			return err
		}
		source = migrate.Cluster{Cluster: c}
	}
	result, err := peer.Run(ctx, f.options, source)
	if err == nil && !f.live {
		err = f.emptyError(arguments, result.Documents, skipped)
	}
	if err != nil {
		return err
	}
	if err := f.write(command.OutOrStdout(), command.ErrOrStderr(), result); err != nil {
		return err
	}
	if result.Has(migrate.Refused) || f.strict && result.Has(migrate.Lost) {
		return &exit{exitFindings, nil}
	}
	return nil
}

func (f *migrateFlags) write(out, plan io.Writer, result *migrate.Result) error {
	if f.plan {
		return result.WritePlan(out)
	}
	if err := result.WritePlan(plan); err != nil {
		return err
	}
	return result.WriteObjects(out)
}

// paces lists those of --pace.
func paces() string {
	var all []string
	for _, pace := range migrate.Paces() {
		all = append(all, string(pace))
	}
	return strings.Join(all, ", ")
}

// parsePorts reads --port.
func parsePorts(all []string) (ports []networkingv1.ServicePort, err error) {
	for _, text := range all {
		number, protocol, hasProtocol := strings.Cut(text, "/")
		name, number, _ := strings.Cut(number, ":")
		value, err := strconv.ParseUint(number, 10, 16)
		if err != nil || value == 0 || name == "" || hasProtocol && protocol != "TCP" && protocol != "UDP" && protocol != "SCTP" {
			return nil, fmt.Errorf("--port %q: must be NAME:NUMBER or NAME:NUMBER/PROTOCOL, such as postgres:5432 or dns:53/UDP", text)
		}
		p := networkingv1.ServicePort{Name: name, Port: int32(value)}
		if hasProtocol && protocol != "TCP" {
			udp := corev1.Protocol(protocol)
			p.Protocol = &udp
		}
		ports = append(ports, p)
	}
	return ports, nil
}
