// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
)

// The formats.
const (
	Text  = "text"
	JSON  = "json"
	SARIF = "sarif"
	JUnit = "junit"
)

// Options of a report.
type Options struct {
	// Version of the program, for SARIF. Defaults to "": none is named.
	Version string
	// Quiet leaves out warnings, unless they are as good as errors, and the summary of Text.
	Quiet bool
	// WarningsAsErrors makes JUnit count a warning as a failure, and Quiet keep warnings.
	WarningsAsErrors bool
}

// Report takes what is found, in order.
type Report interface {
	// Object is given every object, whether something was found or not.
	Object(vet.Object) error
	// End completes the report. Unread is why not all of the input could be read, or nil.
	End(summary vet.Summary, unread error) error
}

// New returns a report in one of the formats.
func New(format string, to io.Writer, o Options) (Report, error) {
	var r Report
	switch format {
	case Text:
		r = &lines{to: to, quiet: o.Quiet}
	case JSON:
		r = &document{to: to}
	case SARIF:
		r = newSARIF(to, o.Version)
	case JUnit:
		r = &junit{to: to, strict: o.WarningsAsErrors}
	default:
		return nil, fmt.Errorf("--output %q: must be %s, %s, %s or %s", format, Text, JSON, SARIF, JUnit)
	}
	if o.Quiet && !o.WarningsAsErrors {
		r = errorsOnly{r}
	}
	return r, nil
}

// errorsOnly leaves out warnings.
type errorsOnly struct{ Report }

func (e errorsOnly) Object(o vet.Object) error {
	var kept []vet.Finding
	for _, f := range o.Findings {
		if f.Severity == vet.Error {
			kept = append(kept, f)
		}
	}
	o.Findings = kept
	return e.Report.Object(o)
}

// location returns the position of a finding in a file, or the cluster.
func location(file string, f *vet.Finding) string {
	if f.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, f.Line, f.Column)
}

// count writes a number and what is counted.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
