// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// disruptions are as a user reads them.
var disruptions = map[string]string{LostPod: "a lost pod", Restart: "a restart"}

// DisruptionText names what is to be survived.
func (p *Proof) DisruptionText() string {
	return cmp.Or(disruptions[p.Disruption], "absence of "+inspect.Printable(p.Dependency))
}

// WorkloadText is the kind and the name.
func (p *Proof) WorkloadText() string { return inspect.Printable(p.Kind + "/" + p.Name) }

// Text describes the evidence: the object, the record, and its result.
func (e *Evidence) Text() string {
	text := e.Object.Kind + " " + e.Object.Name
	if e.Record != "" {
		text += ", record " + e.Record
	}
	text += ": " + e.Result
	if e.Reason != "" && e.Reason != e.Result {
		text += " (" + e.Reason + ")"
	}
	if e.Requests != nil {
		text += ", " + requestsText(e.Requests)
	}
	if e.Message != "" {
		text += "; " + e.Message
	}
	return inspect.Printable(text)
}

func requestsText(r *common.RequestCounts) string {
	text := fmt.Sprintf("%d of %s failed", r.Failed, events.Plural(int(r.Sent), "request", "requests"))
	if r.Inconclusive > 0 {
		text += fmt.Sprintf(", and %d did not count", r.Inconclusive)
	}
	return text
}

// TimeText is when it was, and how long ago.
func (e *Evidence) TimeText(now time.Time) string {
	switch {
	case e == nil:
		return "-"
	case e.Time == nil:
		return "a time that is not known"
	}
	return inspect.TimeText(e.Time, now)
}

// lines are the sentences about the evidence of a proof, the latest first.
func (p *Proof) lines(now time.Time) (lines []string) {
	for _, e := range []*Evidence{p.Inconclusive, p.Failed} {
		if e != nil {
			lines = append(lines, "At "+e.TimeText(now)+", "+e.Text())
		}
	}
	if p.Survived != nil {
		lines = append(lines, p.Survived.Text())
	}
	return lines
}

// Summary counts the verdicts.
func (r *Report) Summary() string {
	var counts []string
	for _, v := range Verdicts {
		if n := r.Count(v); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, v))
		}
	}
	if len(counts) == 0 {
		return "There is no workload here."
	}
	return strings.Join(counts, ", ") + "."
}

// WriteText writes a line for each proof, and below one that is missing what to do.
func (r *Report) WriteText(to io.Writer, allNamespaces bool) error {
	table, now := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0), r.Time.Time
	line := func(namespace string, cells ...string) {
		if allNamespaces {
			cells = append([]string{namespace}, cells...)
		}
		_, _ = fmt.Fprintln(table, strings.Join(cells, "\t")) // Flush returns the error
	}
	if len(r.Proofs) > 0 {
		line("NAMESPACE", "WORKLOAD", "SURVIVES", "VERDICT", "LAST SURVIVED", "EVIDENCE")
	}
	for i := range r.Proofs {
		p := &r.Proofs[i]
		said := p.lines(now)
		if p.Remedy != "" {
			said = append(said, "To do: "+inspect.Printable(p.Remedy))
		}
		line(inspect.Printable(p.Namespace), p.WorkloadText(), p.DisruptionText(), string(p.Verdict), p.Survived.TimeText(now), said[0])
		for _, more := range said[1:] {
			line("", "", "", "", "", more)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintln(&text, r.Summary())
	for _, u := range r.Unread {
		fmt.Fprintf(&text, "Not known: %s.\n", inspect.Printable(u.String()))
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// WriteCSV writes a row for each proof, and one for each kind that could not be read.
func (r *Report) WriteCSV(to io.Writer) error {
	rows := csv.NewWriter(to)
	row := func(cells ...string) {
		for i, cell := range cells {
			cells[i] = literal(inspect.Printable(cell))
		}
		_ = rows.Write(cells) // Error returns it
	}
	row("namespace", "kind", "name", "disruption", "dependency", "verdict", "lastSurvived", "lastFailed", "evidenceKind", "evidenceName",
		"record", "result", "reason", "message", "requestsSent", "requestsFailed", "requestsInconclusive", "remedy")
	for i := range r.Proofs {
		p := &r.Proofs[i]
		e := cmp.Or(p.Failed, p.Survived, p.Inconclusive, &Evidence{})
		requests := []string{"", "", ""}
		if c := e.Requests; c != nil {
			requests = []string{strconv.FormatInt(c.Sent, 10), strconv.FormatInt(c.Failed, 10), strconv.FormatInt(c.Inconclusive, 10)}
		}
		row(p.Namespace, p.Kind, p.Name, p.Disruption, p.Dependency, string(p.Verdict), p.Survived.stamp(), p.Failed.stamp(), e.Object.Kind,
			e.Object.Name, e.Record, e.Result, e.Reason, e.Message, requests[0], requests[1], requests[2], p.Remedy)
	}
	for _, u := range r.Unread {
		row("", "", u.Resource, "", "", string(Unknown), "", "", "", "", "", "", "", u.String(), "", "", "", "")
	}
	rows.Flush()
	return rows.Error()
}

// stamp is the time in RFC 3339; empty for none.
func (e *Evidence) stamp() string {
	if e == nil || e.Time == nil {
		return ""
	}
	return e.Time.UTC().Format(time.RFC3339)
}

// literal prefixes a cell with an apostrophe where a spreadsheet would read it as a formula.
func literal(cell string) string {
	if first, _ := utf8.DecodeRuneInString(strings.TrimLeft(cell, " ")); strings.ContainsRune("=+-@＝＋－＠", first) {
		return "'" + cell
	}
	return cell
}
