// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"maps"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cliflag "k8s.io/component-base/cli/flag"
)

// Flags are the command line flags of the manager, in named groups. They override the
// configuration file, and only those that were given.
type Flags struct {
	// Groups are the flags by group, for a flag set and for help.
	Groups cliflag.NamedFlagSets

	file  string
	given *Configuration
	carry map[string]func(from, to *Configuration)
}

// NewFlags declares the flags. Their defaults are those of Default.
func NewFlags() *Flags {
	f := &Flags{given: Default(), carry: map[string]func(from, to *Configuration){}}
	f.Groups.FlagSet("general").StringVar(&f.file, "config", "",
		"Configuration file, "+APIVersion+" "+Kind+". Flags override what it says.")
	f.declare()
	return f
}

// Configuration reads the file, if one was named, lays the flags that were given over it, and
// validates the whole.
func (f *Flags) Configuration() (*Configuration, error) {
	configuration := Default()
	if f.file != "" {
		var err error
		if configuration, err = Load(f.file); err != nil {
			return nil, err
		}
	}
	for _, group := range f.Groups.FlagSets {
		// The command parses a set of its own that shares these flags: only the flag knows that it
		// was given, its group does not.
		group.VisitAll(func(flag *pflag.Flag) {
			if carry, ok := f.carry[flag.Name]; ok && flag.Changed {
				carry(f.given, configuration)
			}
		})
	}
	if errs := configuration.Validate(); len(errs) > 0 {
		where := "flags"
		if f.file != "" {
			where = "configuration file " + f.file + " with its flags"
		}
		return nil, fmt.Errorf("%s: %w", where, errs.ToAggregate())
	}
	return configuration, nil
}

// group is a flag set that declares flags of f.
type group struct {
	flags *Flags
	set   *pflag.FlagSet
}

// flag declares a flag for one field. The field is found by a function rather than by a pointer,
// because it is read in one configuration and carried to another.
func flag[T any](g group, name string, field func(*Configuration) *T, usage string) {
	switch value := any(field(g.flags.given)).(type) {
	case *string:
		g.set.StringVar(value, name, *value, usage)
	case *bool:
		g.set.BoolVar(value, name, *value, usage)
	case *int:
		g.set.IntVar(value, name, *value, usage)
	case *int64:
		g.set.Int64Var(value, name, *value, usage)
	case *float32:
		g.set.Float32Var(value, name, *value, usage)
	case *[]string:
		g.set.StringSliceVar(value, name, *value, usage)
	case *metav1.Duration:
		g.set.DurationVar(&value.Duration, name, value.Duration, usage)
	default:
		// Reached by a flag of a type not listed above, that is, by every test of this package.
		panic(fmt.Sprintf("flag %s: no flag for a %T", name, value)) //nolint:forbidigo // a mistake in the code, see above
	}
	g.flags.carry[name] = func(from, to *Configuration) { *field(to) = *field(from) }
}

// concurrency declares the flag for controllers.concurrency, which overrides kind by kind.
func (g group) concurrency(name, usage string) {
	given := map[string]int{}
	g.set.StringToIntVar(&given, name, given, usage)
	g.flags.carry[name] = func(_, to *Configuration) { maps.Copy(to.Controllers.Concurrency, given) }
}
