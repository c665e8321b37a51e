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

// whatIfFlags are those of the command.
type whatIfFlags struct {
	inspectFlags
	files, keys, exclude []string
}

func whatIfCommand(o Options) *cobra.Command {
	f := whatIfFlags{inspectFlags: newInspectFlags(inspectText, inspectJSON, inspectYAML, inspectMarkdown)}
	command := &cobra.Command{
		Use:   "what-if {secret|configmap|secretproviderclass}/NAME | what-if -f FILE|FOLDER|-...",
		Short: "Predict which workloads restart if a Secret or ConfigMap changes, or if you apply manifests.",
		Long: `Predict which workloads restart if a ConfigMap or Secret changes, if the secrets that pods mount by a
SecretProviderClass are rotated, or if you apply manifests. For each restart, lists the policy and trigger, the order,
the window, and everything that blocks it now. The code of the operator decides, from what you can read. The command
writes nothing.

With TYPE/NAME, all keys change, or those of --key. With -f, the command compares the rendered manifests of a pull
request with the cluster, and lists the keys that differ. A key that is not in a manifest counts as removed.
RebootPolicies and workloads count as the manifests have them. A ClusterRebootPolicy counts by the policies that its
controller would create, which takes reading all namespaces. Values are never shown.

The command reports what you cannot read, and assumes that a source that you cannot read changes. Notes list what it
does not consider.

Exit code 0: the command has a prediction, also if nothing restarts. 2: something cannot be read, or the command
line is wrong.`,
		Example: strings.ReplaceAll(`  fairlead what-if secret/db-login -n shop
  fairlead what-if secret/db-login --key=password -n shop -o json
  kustomize build overlays/production | fairlead what-if -f - -o markdown`, "fairlead what-if", o.Program+" what-if"),
		DisableFlagsInUseLine: true,
		RunE:                  unread(func(command *cobra.Command, args []string) error { return f.run(command, withSlash(args), o) }),
	}
	command.ValidArgsFunction = f.objects(1, inspect.SourceNames())
	f.add(command, o)
	set := command.Flags()
	set.Lookup("namespace").Usage = "Namespace of the source, and of manifests that name none. Empty: that of the context."
	set.StringSliceVarP(&f.files, "filename", "f", nil, "Files, folders or - with rendered manifests.")
	set.StringSliceVar(&f.exclude, "exclude", nil, "Patterns of files and folders not to read, such as testdata or charts/**/*.yaml. With --filename.")
	set.StringSliceVar(&f.keys, "key", nil, "Keys that change. Empty: all. Without --filename.")
	addOperatorNamespace(command, &f.operatorNamespace)
	return command
}

// run foresees what the flags name.
func (f *whatIfFlags) run(command *cobra.Command, args []string, o Options) error {
	switch err := f.check(); {
	case err != nil:
		return err
	case len(args) > 0 && len(f.files) > 0:
		return errors.New("name a ConfigMap, Secret or SecretProviderClass, or give manifests with -f, not both")
	case len(args) == 0 && len(f.files) == 0, len(args) > 1:
		return fmt.Errorf("name one ConfigMap, Secret or SecretProviderClass as TYPE/NAME, or give manifests with -f; `%s what-if --help` has examples", o.Program)
	case len(f.files) > 0 && len(f.keys) > 0:
		return errors.New("--key goes with TYPE/NAME: with -f, the command finds the keys that differ")
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
		err = f.write(command.OutOrStdout(), found)
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
