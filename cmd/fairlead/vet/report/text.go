// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// lines writes a line for each finding, as compilers do.
type lines struct {
	to    io.Writer
	quiet bool
}

func (l *lines) Object(o vet.Object) error {
	for i := range o.Findings {
		f := &o.Findings[i]
		parts := []string{string(f.Severity), o.Label()}
		if f.Field != "" {
			parts = append(parts, f.Field)
		}
		said := text.OneLine(f.Message)
		if f.ID != "" {
			said += " [" + f.ID + "]"
		}
		parts = append(parts, said)
		if _, err := fmt.Fprintf(l.to, "%s: %s\n", location(o.File, f), strings.Join(parts, ": ")); err != nil {
			return err
		}
	}
	return nil
}

func (l *lines) End(s vet.Summary, unread error) error {
	nothing := unread != nil && s.Documents+s.Objects+s.Skipped == 0
	if l.quiet || nothing {
		return nil
	}
	where := count(s.Files, "file", "files")
	if s.Cluster != "" {
		where = s.Cluster
	}
	line := count(s.Objects, "object", "objects") + " in " + where + ": " +
		count(s.Errors, "error", "errors") + ", " + count(s.Warnings, "warning", "warnings")
	if s.PassedOver > 0 {
		line += "; skipped " + count(s.PassedOver, "object", "objects") + " of other kinds"
	}
	if s.Skipped > 0 {
		line += "; " + count(s.Skipped, "file", "files") + " not read: excluded, patches of a kustomization, or templates of a chart"
	}
	if s.Ignored > 0 {
		line += "; " + count(s.Ignored, "document", "documents") + " ignored by a comment"
	}
	_, err := fmt.Fprintln(l.to, line)
	return err
}
