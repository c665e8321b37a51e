// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/convert"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/forecast"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
)

// inspectMarkdown is a comment for a pull request.
const inspectMarkdown = "markdown"

var whatIfFormats = []string{inspectText, inspectJSON, inspectYAML, inspectMarkdown}

// whatIfFlags are those of the command.
type whatIfFlags struct {
	inspectFlags
	files, keys, exclude []string
	operatorNamespace    string
}

func whatIfCommand(o Options) *cobra.Command {
	f := whatIfFlags{inspectFlags: inspectFlags{format: inspectText, timeout: time.Minute}}
	command := &cobra.Command{
		Use:   "what-if {SECRET|CONFIGMAP|SECRETPROVIDERCLASS}/NAME | what-if -f FILE|FOLDER|-...",
		Short: "Foresee which workloads restart if a source changes, or if manifests are applied.",
		Long: `Foresee which workloads restart if a ConfigMap or Secret changes, if the secrets that pods mount by a
SecretProviderClass are rotated, or if manifests are applied: by which policy and trigger, in which order and
window, and all that holds them now. The code of the operator decides it, from what this user may read, and
nothing is written.

With KIND/NAME, all keys are assumed to change, or those of --key. With -f, the rendered manifests of a pull
request are compared with what is live: the keys that differ are named, a key that a manifest does not have counts
as removed, and RebootPolicies and workloads count as the manifests have them. A ClusterRebootPolicy counts by the
policies that its controller would make of it, for which all namespaces are read. Values are never shown.

What could not be read is named, and a source that could not be read counts as changed. A note says what is not
considered.

The exit code is 0 where it was foreseen, also where nothing restarts, and 2 where something could not be read or
the command line is wrong.`,
		Example: strings.ReplaceAll(`  fairlead what-if secret/db-login -n shop
  fairlead what-if secret/db-login --key=password -n shop -o json
  kustomize build overlays/production | fairlead what-if -f - -o markdown`, "fairlead what-if", o.Program+" what-if"),
		DisableFlagsInUseLine: true,
		RunE:                  unread(func(command *cobra.Command, args []string) error { return f.run(command, args, o) }),
	}
	command.ValidArgsFunction = f.objects(1, inspect.SourceNames())
	f.add(command, o)
	set := command.Flags()
	set.Lookup("output").Usage = "Output format. One of: " + strings.Join(whatIfFormats, ", ") + "."
	set.Lookup("namespace").Usage = "Namespace of the source, and of manifests that name none. Empty: that of the context."
	set.StringSliceVarP(&f.files, "filename", "f", nil, "Files, folders or - with rendered manifests.")
	set.StringSliceVar(&f.exclude, "exclude", nil, "Patterns of files and folders not to read, such as testdata or charts/**/*.yaml. With --filename.")
	set.StringSliceVar(&f.keys, "key", nil, "Keys that change. Empty: all. Without --filename.")
	addOperatorNamespace(command, &f.operatorNamespace)
	complete(command, "output", whatIfFormats...)
	return command
}

// run foresees what the flags name.
func (f *whatIfFlags) run(command *cobra.Command, args []string, o Options) error {
	switch err := f.check(whatIfFormats...); {
	case err != nil:
		return err
	case len(args) > 0 && len(f.files) > 0:
		return errors.New("name a ConfigMap, Secret or SecretProviderClass, or give manifests with -f, not both")
	case len(args) == 0 && len(f.files) == 0, len(args) > 1:
		return fmt.Errorf("name one ConfigMap, Secret or SecretProviderClass as KIND/NAME, or give manifests with -f; `%s what-if --help` has examples", o.Program)
	case len(f.files) > 0 && len(f.keys) > 0:
		return errors.New("--key goes with KIND/NAME: of manifests, the keys that differ are found")
	case len(args) > 0 && len(f.exclude) > 0:
		return errors.New("--exclude goes with --filename")
	}
	reader, namespace, err := f.connect("what-if")
	if err != nil {
		return err
	}
	options := forecast.Options{Reader: reader, OperatorNamespace: f.operatorNamespace, Now: time.Now()}
	var foresee func() (*forecast.Forecast, error)
	ctx, stop := f.bounded(command.Context())
	defer stop()
	if len(args) > 0 {
		key, err := inspect.ParseSource(args[0], namespace)
		if err != nil {
			return err
		}
		foresee = func() (*forecast.Forecast, error) { return forecast.OfSource(ctx, options, key, f.keys) }
	} else {
		manifests, err := f.manifests(command, namespace)
		if err != nil {
			return err
		}
		foresee = func() (*forecast.Forecast, error) { return forecast.OfManifests(ctx, options, manifests) }
	}
	found, err := foresee()
	if err != nil {
		return err
	}
	switch f.format {
	case inspectText:
		err = printable(command.OutOrStdout(), func(to io.Writer) error { return found.WriteText(to, options.Now) })
	case inspectMarkdown:
		err = found.WriteMarkdown(command.OutOrStdout(), options.Now)
	default:
		err = write(command.OutOrStdout(), f.format, found)
	}
	if err == nil && inspect.HasErrors(found.Unread) {
		return &exit{exitUnread, nil}
	}
	return err
}

// manifests reads --filename.
func (f *whatIfFlags) manifests(command *cobra.Command, namespace string) (*forecast.Manifests, error) {
	conversion, err := convert.New(convert.Options{Kinds: convertible(), To: "v1"})
	if err != nil {
		return nil, err
	}
	m := &forecast.Manifests{Namespace: namespace, Convert: func(object []byte) ([]byte, error) {
		result, err := conversion.Text(object)
		switch {
		case err != nil:
			return nil, err
		case len(result.Failed) > 0:
			return nil, errors.New(result.Failed[0].Text)
		}
		return result.Text, nil
	}}
	if err := files.Walk(f.files, files.Options{Stdin: command.InOrStdin(), Exclude: f.exclude}, m.Read); err != nil {
		return nil, err
	}
	if m.Documents == 0 {
		return nil, errors.New("--filename: nothing was read: no file holds a document")
	}
	return m, nil
}
