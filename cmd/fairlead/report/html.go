// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	_ "embed"
	"html/template"
	"io"
	"time"
)

//go:embed report.html
var page string

var parsed = template.Must(template.New("report").Funcs(template.FuncMap{"printable": printable}).Parse(page))

// Lines are for the page.
func (v section) Lines(p *Proof) []string { return p.lines(v.now) }

// Time is for the page.
func (v section) Time(e *Evidence) string { return e.TimeText(v.now) }

// Stamp is for the page.
func (v section) Stamp(e *Evidence) string { return e.stamp() }

// section is a heading and the proofs below it.
type section struct {
	ID, Title string
	Proofs    []Proof
	now       time.Time
}

// WriteHTML writes one page that needs nothing else.
func (r *Report) WriteHTML(to io.Writer) error {
	failures := r.Count(Failed) // which come first
	buffered := bufio.NewWriter(to)
	err := parsed.Execute(buffered, struct {
		*Report
		Made, Stale string
		Sections    []section
	}{r, r.Time.Format(time.RFC3339), r.StaleBefore.Format(time.RFC3339), []section{
		{"failures", "Failed since they were last survived", r.Proofs[:failures], r.Time.Time},
		{"others", "All others", r.Proofs[failures:], r.Time.Time},
	}})
	if err != nil {
		return err
	}
	return buffered.Flush()
}
