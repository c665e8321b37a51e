// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	autorebootv1alpha1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	chaosv1alpha1 "github.com/fairlead-dev/fairlead/api/chaos/v1alpha1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	networkingv1alpha1 "github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/convert"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
)

// Convert is `fairlead convert`.
func Convert(o Options) *cobra.Command {
	o = o.withDefaults()
	kinds := convertible()
	options := convert.Options{Kinds: kinds}
	request := convert.Request{Out: o.Output, Messages: o.Logs}
	var named []string
	command := &cobra.Command{
		Use:   "convert --to VERSION {FILE|FOLDER|-}...",
		Short: "Convert manifests to another version of the API, without a cluster.",
		Long: `Convert manifests to another version of the API, without a cluster, by the code of the webhook.

Files may hold several documents and lists, in YAML or JSON. Of a folder, the command reads all .yaml, .yml and .json
files below it. Documents without an object to convert stay as they are, byte for byte. In the others, fields that
both versions have keep their comments, their order and their quotes. A note names each comment that is lost, and what
a cluster would reject in a result.

Every field has one spelling at each version, so nothing is lost: to convert back gives the same object again.

Exit code 0: all is well. 1: --check found something, or an object cannot be converted. 2: an input cannot be read
or holds no document, or the command line is wrong.`,
		Example: strings.ReplaceAll(`  fairlead convert --to v1 shop.yaml
  kustomize build . | fairlead convert --to v1 - | kubectl apply -f -
  fairlead convert --to v1 --write manifests/
  fairlead convert --to v1 --check manifests/`, "fairlead convert", o.Program+" convert"),
		Args:                  cobra.ArbitraryArgs,
		DisableFlagsInUseLine: true,
		RunE: func(command *cobra.Command, paths []string) error {
			paths = append(paths, named...)
			options.Vet = vetted(command.Context())
			conversion, err := convert.New(options)
			if err != nil {
				return &exit{exitUnread, err}
			}
			request.Paths, request.Stdin = paths, command.InOrStdin()
			ctx, stop := untilSignal(command.Context())
			defer stop()
			switch err = conversion.Run(ctx, request); {
			case errors.Is(err, convert.ErrInput):
				return &exit{exitUnread, err}
			case err != nil:
				return &exit{exitFindings, err}
			}
			return nil
		},
	}
	flags := command.Flags()
	versions := convert.Versions(kinds)
	flags.StringVar(&options.To, "to", "", "Version to convert to: "+strings.Join(versions, " or ")+". Required.")
	flags.StringSliceVarP(&named, "filename", "f", nil, "Files, folders or - to convert, in addition to the arguments.")
	flags.BoolVarP(&request.Write, "write", "w", false, "Replace the files that change, and print their names.")
	flags.BoolVar(&request.Check, "check", false, "Change nothing: print the objects that are not at the version, and exit with 1 if there are any.")
	flags.BoolVar(&request.AllowEmpty, "allow-empty", false, "Succeed when the input has no document.")
	complete(command, "to", versions...)
	return command
}

// vetted returns what a cluster would refuse of a converted object.
func vetted(ctx context.Context) func(object []byte) []string {
	check := sync.OnceValue(func() *vet.Vet { return vet.New(vet.Options{}) })
	return func(object []byte) (wrong []string) {
		_, err := check().Run(ctx, func(visit files.Visit) error { return visit("", bytes.NewReader(object)) }, func(o vet.Object) error {
			for _, f := range o.Findings {
				if f.Severity == vet.Error {
					wrong = append(wrong, f.Field+": "+f.Message)
				}
			}
			return nil
		})
		if err != nil {
			return nil // the run ends
		}
		return wrong
	}
}

// convertible are the kinds.
func convertible() []convert.Kind {
	return []convert.Kind{{
		Group: networkingv1.GroupVersion.Group, Kind: "ExternalService",
		Types: map[string]reflect.Type{
			networkingv1.GroupVersion.Version:       reflect.TypeFor[networkingv1.ExternalService](),
			networkingv1alpha1.GroupVersion.Version: reflect.TypeFor[networkingv1alpha1.ExternalService](),
		},
	}, {
		Group: autorebootv1.GroupVersion.Group, Kind: "RebootPolicy",
		Types: map[string]reflect.Type{
			autorebootv1.GroupVersion.Version:       reflect.TypeFor[autorebootv1.RebootPolicy](),
			autorebootv1alpha1.GroupVersion.Version: reflect.TypeFor[autorebootv1alpha1.RebootPolicy](),
		},
	}, {
		Group: autorebootv1.GroupVersion.Group, Kind: "ClusterRebootPolicy",
		Types: map[string]reflect.Type{
			autorebootv1.GroupVersion.Version:       reflect.TypeFor[autorebootv1.ClusterRebootPolicy](),
			autorebootv1alpha1.GroupVersion.Version: reflect.TypeFor[autorebootv1alpha1.ClusterRebootPolicy](),
		},
	}, {
		Group: chaosv1.GroupVersion.Group, Kind: "ChaosPod",
		Types: map[string]reflect.Type{
			chaosv1.GroupVersion.Version:       reflect.TypeFor[chaosv1.ChaosPod](),
			chaosv1alpha1.GroupVersion.Version: reflect.TypeFor[chaosv1alpha1.ChaosPod](),
		},
	}}
}
