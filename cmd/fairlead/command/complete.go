// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// completeTimeout bounds what a user waits for after a press of the tabulator. What was read until then is shown.
const completeTimeout = 3 * time.Second

// complete completes a flag that has fixed values.
func complete(command *cobra.Command, flag string, values ...string) {
	completeBy(command, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completeBy completes a flag of a command by a function.
func completeBy(command *cobra.Command, flag string, by cobra.CompletionFunc) {
	// The only error is a flag that there is not, or that completes already.
	_ = command.RegisterFlagCompletionFunc(flag, by)
}

// objects completes arguments TYPE/NAME or TYPE NAME, as many as are wanted: types first, and after the slash or the type the
// names that the cluster has. Each of kinds may end with /NAME. What cannot be read completes to nothing, as a completion has no
// place for an error.
func (f *clusterFlags) objects(wanted int, kinds []string) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !strings.Contains(args[0], "/") && len(args)-1 < wanted {
			return f.names(command, args[0], "", args[1:], word, kinds), cobra.ShellCompDirectiveNoFileComp
		}
		if len(args) >= wanted {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		before, name, hasKind := strings.Cut(word, "/")
		if !hasKind {
			return beginnings(kinds, word), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return f.names(command, before, before+"/", args, name, kinds), cobra.ShellCompDirectiveNoFileComp
	}
}

// names completes the name of an object of a type, with a prefix, to those that are not in args already.
func (f *clusterFlags) names(command *cobra.Command, typed, prefix string, args []string, word string, kinds []string) (found []string) {
	kind, known := inspect.ParseKind(typed)
	if plain := strings.ToLower(kind); !known || !slices.Contains(kinds, plain) && !slices.Contains(kinds, plain+"/NAME") {
		return nil
	}
	reader, namespace, err := f.connect(command.Name())
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(command.Context(), completeTimeout)
	defer cancel()
	names, _ := inspect.Names(ctx, reader, kind, namespace, word)
	for _, name := range names {
		if !slices.Contains(args, prefix+name) {
			found = append(found, prefix+name)
		}
	}
	return found
}

// beginnings are the kinds that begin with a word, each with a slash.
func beginnings(kinds []string, word string) (found []string) {
	for _, kind := range kinds {
		if kind = strings.TrimSuffix(kind, "/NAME"); strings.HasPrefix(kind, word) {
			found = append(found, kind+"/")
		}
	}
	return found
}

// namespaces completes --namespace.
func (f *clusterFlags) namespaces(command *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	reader, _, err := f.connect(command.Name())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(command.Context(), completeTimeout)
	defer cancel()
	names, _ := inspect.Namespaces(ctx, reader, word)
	return names, cobra.ShellCompDirectiveNoFileComp
}

// endpoints completes --endpoint by the spec of the ExternalService that is the first argument.
func (f *clusterFlags) endpoints(command *cobra.Command, args []string, _ string) (found []string, directive cobra.ShellCompDirective) {
	directive = cobra.ShellCompDirectiveNoFileComp
	if args = withSlash(args); len(args) == 0 {
		return nil, directive
	}
	reader, namespace, err := f.connect(command.Name())
	if err != nil {
		return nil, directive
	}
	key, err := inspect.ParseKey(args[0], namespace)
	if err != nil {
		return nil, directive
	}
	ctx, cancel := context.WithTimeout(command.Context(), completeTimeout)
	defer cancel()
	object, err := inspect.Get(ctx, reader, key)
	if service, is := object.(*networkingv1.ExternalService); err == nil && is {
		for i := range service.Spec.Endpoints {
			found = append(found, service.Spec.Endpoints[i].Name)
		}
	}
	return found, directive
}
