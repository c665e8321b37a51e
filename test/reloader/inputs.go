// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package reloader

import (
	"errors"
	"flag"
	"io"
	"path/filepath"
	"strings"
)

// Inputs are the inputs of the suites and the load scenarios.
type Inputs struct {
	// Root is the checkout of Fairlead, and Checkout that of Reloader.
	Root, Checkout string
	// Replace has modules that the module proxy lacks, each with a folder that has its code, as MODULE=FOLDER. The default is none.
	Replace []string
	// Arguments are further arguments of the operator. The default is none.
	Arguments []string
	// Output takes progress, and the output of the suites. The default is none.
	Output io.Writer
}

// Flags declares the flags of a program that takes them.
func (i *Inputs) Flags(flags *flag.FlagSet) {
	flags.StringVar(&i.Root, "root", ".", "the checkout of Fairlead")
	flags.StringVar(&i.Checkout, "checkout", "", "a checkout of github.com/stakater/Reloader")
	flags.Func("replace", "a folder with the code of a module that the proxy lacks, as MODULE=FOLDER; may be given again", func(text string) error {
		i.Replace = append(i.Replace, strings.Fields(text)...)
		return nil
	})
	flags.Func("operator", "a further argument of the operator; may be given again", func(text string) error {
		i.Arguments = append(i.Arguments, text)
		return nil
	})
}

// Complete makes both folders absolute. It fails without a checkout of Reloader.
func (i *Inputs) Complete() error {
	if i.Checkout == "" {
		return errors.New("--checkout is missing: git clone https://github.com/stakater/Reloader, and name that folder")
	}
	var errs []error
	for _, path := range []*string{&i.Root, &i.Checkout} {
		absolute, err := filepath.Abs(*path)
		*path, errs = absolute, append(errs, err)
	}
	if i.Output == nil {
		i.Output = io.Discard
	}
	return errors.Join(errs...)
}
