// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	_ "embed"
	"io"
	"time"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/webpage"
)

//go:embed report.html
var content string

var page = webpage.New(content)

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
	return page.Write(to, &webpage.Data{Title: "What workloads have survived", Unread: r.Unread, Content: struct {
		*Report
		Made, Stale string
		Sections    []section
	}{r, r.Time.Format(time.RFC3339), r.StaleBefore.Format(time.RFC3339), []section{
		{"failures", "Failed since they were last survived", r.Proofs[:failures], r.Time.Time},
		{"others", "All others", r.Proofs[failures:], r.Time.Time},
	}}})
}
