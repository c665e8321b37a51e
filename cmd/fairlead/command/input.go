// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/cluster"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
)

// inputFlags name what a command reads: files, or a cluster.
type inputFlags struct {
	clusterFlags
	files, exclude   []string
	recursive, empty bool
	live, all        bool
}

func newInputFlags() inputFlags { return inputFlags{recursive: true, all: true} }

// declare gives a command the flags. The verb says what it does with what it reads.
func (f *inputFlags) declare(command *cobra.Command, verb string, o Options) {
	set := command.Flags()
	set.StringSliceVarP(&f.files, "filename", "f", nil, "Files, folders or - to "+verb+", in addition to the arguments.")
	set.BoolVarP(&f.recursive, "recursive", "R", f.recursive, "Read folders with all folders below them.")
	set.StringSliceVar(&f.exclude, "exclude", nil, "Patterns of files and folders not to read, such as testdata or charts/**/*.yaml.")
	set.BoolVar(&f.empty, "allow-empty", f.empty, "Succeed when the input has no document.")
	set.BoolVar(&f.live, "live", f.live, capital(verb)+" the objects of a cluster instead of files.")
	set.BoolVarP(&f.all, "all-namespaces", "A", f.all, capital(verb)+" all namespaces, as without --namespace. With --live.")
	f.addCluster(command, o)
	set.Lookup("namespace").Usage = "Namespace to " + verb + ". Empty: all. With --live."
}

func capital(word string) string { return string(word[0]-'a'+'A') + word[1:] }

// complete refuses what does not go together.
func (f *inputFlags) complete(command *cobra.Command, arguments []string) error {
	if f.live {
		if len(arguments) > 0 {
			return errors.New("--live takes no files: run the command once for the cluster and once for the files")
		}
		if *f.Namespace != "" && f.all && command.Flags().Changed("all-namespaces") {
			return errors.New("give --namespace or --all-namespaces, not both")
		}
		return nil
	}
	var given string
	_, of := newConfigFlags()
	command.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Name == "all-namespaces" || of.Lookup(flag.Name) != nil {
			given = flag.Name
		}
	})
	switch {
	case given != "":
		return fmt.Errorf("--%s goes with --live", given)
	case len(arguments) == 0:
		return errors.New("name a file, a folder, or - for the standard input, or give --live")
	}
	return nil
}

// options of a walk, which counts the files that it skips.
func (f *inputFlags) options(command *cobra.Command, skipped *int) files.Options {
	return files.Options{Stdin: command.InOrStdin(), Exclude: f.exclude, Shallow: !f.recursive, Skipped: func(string) { *skipped++ }}
}

// emptyError is that nothing was read, where that is a fault.
func (f *inputFlags) emptyError(arguments []string, documents, skipped int) error {
	switch {
	case documents > 0 || f.empty:
	case skipped == 0:
		return errors.New("nothing was read: no file holds a document; give --allow-empty where that is no fault")
	case slices.ContainsFunc(arguments, isFolder): // a hook that names each file may name only such
		return fmt.Errorf("nothing was read: all %d files are excluded, patches of a kustomization, or templates of a chart; "+
			"change --exclude, render charts with `helm template`, or give --allow-empty where that is no fault", skipped)
	}
	return nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// reach returns the cluster that the flags name, which is found as kubectl finds it. It sends nothing.
func (f *inputFlags) reach(command string, disabled map[string]bool) (*cluster.Cluster, error) {
	api, _, err := f.config(command)
	if err != nil {
		return nil, err
	}
	c, err := cluster.New(cluster.Options{Config: api, Name: f.currentContext(), Namespace: *f.Namespace, Disabled: disabled})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return c, nil
}
