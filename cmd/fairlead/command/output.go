// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/yaml"
)

// outputFlags are --output of a command that prints what is no object of the API server, and --template.
type outputFlags struct {
	format    string
	formats   []string
	templates *genericclioptions.KubeTemplatePrintFlags
}

// newOutputFlags returns flags with these formats, the first of which is the default, and the templates of kubectl.
func newOutputFlags(formats ...string) outputFlags {
	return outputFlags{format: formats[0], formats: formats, templates: genericclioptions.NewKubeTemplatePrintFlags()}
}

// addOutput gives a command the flags.
func (f *outputFlags) addOutput(command *cobra.Command) {
	command.Flags().StringVarP(&f.format, "output", "o", f.format, "Output format. One of: "+f.allowed()+".")
	f.templates.AddFlags(command)
	hidePrinting(command.Flags())
	complete(command, "output", append(slices.Clone(f.formats), "jsonpath=", "go-template=")...)
}

func (f *outputFlags) allowed() string {
	return strings.Join(f.formats, ", ") + ", jsonpath=..., jsonpath-file=..., go-template=..., go-template-file=..."
}

// checkOutput refuses a format that there is not.
func (f *outputFlags) checkOutput() error {
	if slices.Contains(f.formats, f.format) {
		return nil
	}
	_, err := f.templates.ToPrinter(f.format)
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return fmt.Errorf("--output %q: must be one of %s", f.format, f.allowed())
	} else if err != nil {
		return fmt.Errorf("--output %q: %w", f.format, err)
	}
	return nil
}

// write writes a value as JSON or YAML, or by a template.
func (f *outputFlags) write(to io.Writer, value any) error {
	if f.format == inspectJSON || f.format == inspectYAML {
		return write(to, f.format, value)
	}
	printer, err := f.templates.ToPrinter(f.format)
	if err != nil {
		return err
	}
	return printer.PrintObj(document{value}, to)
}

// write writes a value as JSON or YAML.
func write(to io.Writer, format string, value any) error {
	if format == inspectYAML {
		raw, err := yaml.Marshal(value)
		if err == nil {
			_, err = to.Write(raw)
		}
		return err
	}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// document has the printers of kubectl print a value that is no object of the API server.
type document struct{ value any }

var _ runtime.Object = document{}

func (d document) MarshalJSON() ([]byte, error)   { return json.Marshal(d.value) }
func (document) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (d document) DeepCopyObject() runtime.Object { return d }
