// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"
)

// Status is what /statusz shows, and its JSON form.
type Status struct {
	Version string        `json:"version"`
	Seconds float64       `json:"seconds"` // since the process started
	Phases  []PhaseStatus `json:"phases"`
	Facts   []Fact        `json:"facts"`
}

// PhaseStatus is one row of /statusz.
type PhaseStatus struct {
	Phase Phase `json:"phase"`
	State State `json:"state"`
	// AfterSeconds is from the start of the process to the start of the phase.
	AfterSeconds float64 `json:"afterSeconds"`
	// Seconds is how long the phase took, or has been running.
	Seconds float64 `json:"seconds"`
	// Detail is what the phase waits for, or why it failed or was skipped.
	Detail string `json:"detail,omitempty"`
}

// Fact is one line about what is so now, such as who leads.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Status returns the state of the start.
func (r *Recorder) Status() Status {
	now := r.clock.Now()
	r.mu.Lock()
	status := Status{Version: r.version, Seconds: now.Sub(r.started).Seconds(), Facts: []Fact{}}
	for _, row := range r.rows {
		took, state, detail := row.took, row.state, row.detail()
		if state == Running {
			took = now.Sub(row.begun)
		}
		if reason := row.lateReason(); reason != "" {
			state, detail = Late, reason
		}
		status.Phases = append(status.Phases, PhaseStatus{
			Phase: row.phase, State: state, Detail: detail,
			AfterSeconds: row.after.Seconds(), Seconds: took.Seconds(),
		})
	}
	facts := append([]fact(nil), r.facts...)
	r.mu.Unlock()
	// Facts are computed without the lock: they belong to others, and may take locks of theirs.
	for _, fact := range facts {
		status.Facts = append(status.Facts, Fact{Name: fact.name, Value: fact.value()})
	}
	return status
}

// ServeHTTP returns /statusz as a text table, or as JSON by ?format=json or an Accept header.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	status := r.Status()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	// A write error cannot be reported to a client that is gone.
	if wantsJSON(request) {
		w.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		_ = encoder.Encode(status)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_ = status.table(w)
}

func wantsJSON(request *http.Request) bool {
	if format := request.URL.Query().Get("format"); format != "" {
		return format == "json"
	}
	return strings.Contains(request.Header.Get("Accept"), "application/json")
}

func (s Status) table(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "fairlead %s, up %s\n\n", s.Version, rounded(s.Seconds))
	fmt.Fprintln(w, "PHASE\tSTATE\tAFTER\tTOOK\tDETAIL")
	for _, phase := range s.Phases {
		after, took := rounded(phase.AfterSeconds).String(), rounded(phase.Seconds).String()
		if phase.State == Pending || phase.State == Skipped {
			after, took = "-", "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", phase.Phase, phase.State, after, took, phase.Detail)
	}
	if len(s.Facts) > 0 {
		fmt.Fprintln(w)
	}
	for _, fact := range s.Facts {
		fmt.Fprintf(w, "%s\t%s\n", fact.Name, fact.Value)
	}
	return w.Flush()
}

func rounded(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}
