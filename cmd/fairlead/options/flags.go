// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Flags are the command line flags of the manager: those that a person types or that kustomize renames, and --set for
// any field. They override the configuration file, in their order.
type Flags struct {
	// FlagSet has the flags.
	FlagSet *pflag.FlagSet

	file           string
	given          []assignment
	without        []string
	configurations []string
}

// assignment is a field with its value as text.
type assignment struct{ path, text string }

// NewFlags declares the flags. Their defaults are those of Default.
func NewFlags() *Flags {
	f := &Flags{FlagSet: pflag.NewFlagSet("manager", pflag.ContinueOnError)}
	f.FlagSet.SortFlags = false
	f.FlagSet.StringVar(&f.file, "config", "", "Configuration file, "+APIVersion+" "+Kind+". Flags override what it says.")
	f.FlagSet.Var(&fieldFlag{flags: f}, "set",
		"A field of the configuration file with its value, such as webhook.drainDelay=5s or namespaces=shop,billing. May be repeated.")
	f.FlagSet.Func("without-kind", "A kind to take out of kinds, such as ChaosPod. May be repeated.", f.leaveOut)
	c := Default()
	f.field("kubeconfig", "", "clientConnection.kubeconfig", c.ClientConnection.Kubeconfig,
		"Kubeconfig of the cluster. Empty: KUBECONFIG, the pod's service account, or ~/.kube/config.")
	f.field("leader-elect", "", "leaderElection.leaderElect", strconv.FormatBool(c.LeaderElection.LeaderElect),
		"Elect the one replica that reconciles. Without election there must be one replica only.")
	f.field("service-name", "", "service.name", c.Service.Name, "Service through which the API server reaches the webhooks.")
	f.FlagSet.Func("webhook-configuration", "Name of the MutatingWebhookConfiguration and the ValidatingWebhookConfiguration of the kind in which the name ends. Once for each kind.",
		func(name string) error { f.configurations = append(f.configurations, name); return nil })
	f.field("metrics-bind-address", "", "metrics.bindAddress", c.Metrics.BindAddress, "Address of /metrics; 0 for off.")
	f.field("health-probe-bind-address", "", "health.bindAddress", c.Health.BindAddress,
		"Address of /healthz, /readyz and /statusz; 0 for off.")
	f.field("pprof-bind-address", "", "profiling.bindAddress", c.Profiling.BindAddress,
		"Loopback address on which profiles are served without any check. Empty: off.")
	f.field("log-format", "", "logging.format", c.Logging.Format, "Log format. One of: json, text.")
	// -v is the name that every component of Kubernetes has for it.
	f.field("log-level", "v", "logging.level", string(c.Logging.Level),
		"Log level: error, info, debug, or a number from 1 to 7 for ever more detail.")
	return f
}

// leaveOut takes a kind out of kinds. The components of config/without do so: each knows its own kind alone.
func (f *Flags) leaveOut(kind string) error {
	if !slices.Contains(allKinds(), kind) {
		return errors.New("must be one of " + strings.Join(allKinds(), ", "))
	}
	f.without = append(f.without, kind)
	return nil
}

// field declares a flag for one field.
func (f *Flags) field(name, shorthand, path, value, usage string) {
	flag := f.FlagSet.VarPF(&fieldFlag{f, path, value}, name, shorthand, usage)
	if _, err := strconv.ParseBool(value); err == nil {
		flag.NoOptDefVal = "true"
	}
}

// fieldFlag is the value of a flag that sets a field: the one of its path, or without a path the one that its text names.
type fieldFlag struct {
	flags      *Flags
	path, text string
}

func (f *fieldFlag) String() string { return f.text }

func (f *fieldFlag) Type() string {
	switch _, err := strconv.ParseBool(f.text); {
	case f.path == "":
		return "FIELD=VALUE"
	case err == nil:
		return "bool"
	default:
		return "string"
	}
}

// Set implements pflag.Value. It refuses a field that does not exist, and a value of another type than the field's.
func (f *fieldFlag) Set(text string) error {
	given := assignment{f.path, text}
	if f.path == "" {
		var found bool
		if given.path, given.text, found = strings.Cut(text, "="); !found {
			return errors.New("must be FIELD=VALUE, such as webhook.drainDelay=5s")
		}
	}
	if err := Default().set(given.path, given.text); err != nil {
		return err
	}
	f.text, f.flags.given = text, append(f.flags.given, given)
	return nil
}

// Configuration reads the file, if one was named, lays the flags that were given over it, and
// validates the whole.
func (f *Flags) Configuration() (*Configuration, error) { return f.configuration(Load) }

// FromArguments returns the configuration of a manager that is started with the arguments, the word manager
// included, such as those of a container. Flags that this version does not know are passed over. load returns
// the file that the arguments name.
func FromArguments(arguments []string, load func(path string) (*Configuration, error)) (*Configuration, error) {
	f := NewFlags()
	f.FlagSet.ParseErrorsAllowlist.UnknownFlags = true
	if err := f.FlagSet.Parse(arguments); err != nil {
		return nil, err
	}
	return f.configuration(load)
}

func (f *Flags) configuration(load func(path string) (*Configuration, error)) (*Configuration, error) {
	configuration, where := Default(), "flags"
	if f.file != "" {
		var err error
		if configuration, err = load(f.file); err != nil {
			return nil, err
		}
		where = "configuration file " + f.file + " with its flags"
	}
	for _, given := range f.given {
		if err := configuration.set(given.path, given.text); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
	}
	if len(f.configurations) > 0 {
		configuration.Webhook.Configurations = f.configurations
	}
	configuration.Kinds = slices.DeleteFunc(configuration.Kinds, func(kind string) bool { return slices.Contains(f.without, kind) })
	if errs := configuration.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("%s: %w", where, errs.ToAggregate())
	}
	return configuration, nil
}
