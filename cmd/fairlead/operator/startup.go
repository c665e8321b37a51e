// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/metrics"
)

// The phases of a start, in order.
const (
	phaseAPIServer     = "api-server"     // the API server responds
	phaseCertificates  = "certificates"   // there is a serving certificate and a root
	phaseWebhookServer = "webhook-server" // the webhook server has answered itself over TLS
	phaseCAPublished   = "ca-published"   // the API server has the root
	phaseCaches        = "caches"         // the informers have listed; objects may be converted for that
	phaseElection      = "election"       // this replica leads; a standby stays in this phase
	phaseReconcilers   = "reconcilers"    // this replica reconciles
)

func phases() []string {
	return []string{phaseAPIServer, phaseCertificates, phaseWebhookServer, phaseCAPublished, phaseCaches, phaseElection, phaseReconcilers}
}

// The states of a phase.
const (
	statePending = "pending"
	stateRunning = "running"
	stateDone    = "done"
	stateSkipped = "skipped"
	stateLate    = "late" // the start went on without a part of it, which is retried
)

// startup records the progress of the start of this process, for /statusz, the log and two metrics.
type startup struct {
	logger        logr.Logger
	version       string
	clock         clock.PassiveClock
	seconds, late *prometheus.GaugeVec
	onLate        func(phase, part string, reason error) // called when a part becomes late, and when its reason changes
	began         time.Time

	mu    sync.Mutex
	rows  []*row
	facts []fact
}

type row struct {
	phase, state string
	after, took  time.Duration // from the start of the process to the start of the phase; duration of the phase
	begun        time.Time
	note         string
	waits        map[string]int   // how many parts wait, by what they wait for
	late         map[string]error // the reasons of its late parts, by their names
}

type fact struct {
	name  string
	value func() string
}

func newStartup(a *assembly) (*startup, error) {
	s := &startup{logger: a.logger, version: a.version, clock: a.clock, began: a.clock.Now(), onLate: a.reportLate}
	for _, phase := range phases() {
		s.rows = append(s.rows, &row{phase: phase, state: statePending, waits: map[string]int{}, late: map[string]error{}})
	}
	var err, lateErr error
	s.seconds, err = metrics.Gauge(a.metrics, "fairlead_startup_phase_seconds",
		"How long each phase of the start took, in seconds. A phase that has not ended is absent.", "phase")
	s.late, lateErr = metrics.Gauge(a.metrics, "fairlead_startup_phase_late",
		"1 for a phase of the start that the start went on without, and that is still attempted. Otherwise it is 0 or absent.", "phase")
	return s, errors.Join(err, lateErr)
}

// begin records that a phase begins. Call done when it is done.
func (s *startup) begin(phase string) (done func()) {
	s.change(phase, func(r *row) { r.state, r.begun, r.after = stateRunning, s.clock.Now(), s.clock.Since(s.began) })
	return func() {
		var took time.Duration
		s.change(phase, func(r *row) {
			took = s.clock.Since(r.begun)
			r.state, r.took, r.note = stateDone, took, ""
		})
		s.seconds.WithLabelValues(phase).Set(took.Seconds())
		s.logger.Info("start: phase done", "phase", phase, "seconds", took.Round(time.Microsecond).Seconds(),
			"sinceStart", s.clock.Since(s.began).Round(time.Microsecond).Seconds())
	}
}

// skip records the reason for which this replica has no such phases.
func (s *startup) skip(reason string, phases ...string) {
	for _, phase := range phases {
		s.change(phase, func(r *row) { r.state, r.note = stateSkipped, reason })
		s.logger.Info("start: phase skipped", "phase", phase, "reason", reason)
	}
}

// progress records a note on the progress of a phase.
func (s *startup) progress(phase, note string) { s.change(phase, func(r *row) { r.note = note }) }

// wait records that a part of a phase waits for something. Call done when the wait is over.
func (s *startup) wait(phase, what string) (done func()) {
	add := func(n int) {
		s.change(phase, func(r *row) {
			if r.waits[what] += n; r.waits[what] == 0 {
				delete(r.waits, what)
			}
		})
	}
	add(1)
	return func() { add(-1) }
}

// setLate records that the start goes on without a part of a phase, and the reason. With a nil reason, the part is no
// longer late. The part is empty for a phase that has only one.
func (s *startup) setLate(phase, part string, reason error) {
	isNew, cleared, value := false, false, 0.0
	s.change(phase, func(r *row) {
		before, was := r.late[part]
		if cleared = was && reason == nil; reason == nil {
			delete(r.late, part)
		} else {
			isNew = !was || before.Error() != reason.Error()
			r.late[part] = reason
		}
		if len(r.late) > 0 {
			value = 1
		}
	})
	s.late.WithLabelValues(phase).Set(value)
	switch {
	case isNew:
		s.logger.Error(reason, "start: going on without this phase, which is attempted again", "phase", phase, "part", part)
		s.onLate(phase, part, reason)
	case cleared:
		s.logger.Info("start: a late phase is done", "phase", phase, "part", part)
	}
}

// err returns an error that lists each late part with its reason; nil if there is none.
func (s *startup) err() error {
	var errs []error
	for _, r := range s.status().Phases {
		if r.State == stateLate {
			errs = append(errs, fmt.Errorf("the start went on without %s: %s", r.Phase, r.Detail))
		}
	}
	return errors.Join(errs...)
}

// leadable returns nil if a replica without webhooks could take over. Its start has then come to the election, and its
// caches are filled unless Warmup is off.
func (s *startup) leadable() error {
	for _, r := range s.status().Phases {
		switch {
		case r.Phase == phaseElection && r.State != statePending:
			return nil
		case r.State != statePending && r.State != stateRunning:
		case r.Detail != "":
			return fmt.Errorf("the start has not come to the election: %s is %s: %s", r.Phase, r.State, r.Detail)
		default:
			return fmt.Errorf("the start has not come to the election: %s is %s", r.Phase, r.State)
		}
	}
	return nil
}

// setInfo adds a line to /statusz, or replaces the line of that name. value is called for each request, and must not
// block.
func (s *startup) setInfo(name string, value func() string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.facts = append(slices.DeleteFunc(s.facts, func(one fact) bool { return one.name == name }), fact{name, value})
}

func (s *startup) change(phase string, edit func(*row)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	edit(s.rows[slices.Index(phases(), phase)])
}

// startStatus is the JSON form of /statusz.
type startStatus struct {
	Version string        `json:"version"`
	Seconds float64       `json:"seconds"` // since the start of the process
	Phases  []phaseStatus `json:"phases"`
	Facts   []factStatus  `json:"facts"`
}

type phaseStatus struct {
	Phase        string  `json:"phase"`
	State        string  `json:"state"`
	AfterSeconds float64 `json:"afterSeconds"` // from the start of the process to the start of the phase
	Seconds      float64 `json:"seconds"`      // how long it took, or has taken so far
	Detail       string  `json:"detail,omitempty"`
}

type factStatus struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (s *startup) status() startStatus {
	s.mu.Lock()
	status := startStatus{Version: s.version, Seconds: s.clock.Since(s.began).Seconds(), Facts: []factStatus{}}
	for _, r := range s.rows {
		p := phaseStatus{Phase: r.phase, State: r.state, AfterSeconds: r.after.Seconds(), Seconds: r.took.Seconds(), Detail: r.note}
		if r.state == stateRunning {
			p.Seconds = s.clock.Since(r.begun).Seconds()
			if waits := slices.Sorted(maps.Keys(r.waits)); len(waits) > 0 {
				p.Detail = strings.TrimSuffix("waiting for "+strings.Join(waits, ", ")+"; "+r.note, "; ")
			}
		}
		var reasons []string
		for _, part := range slices.Sorted(maps.Keys(r.late)) {
			reasons = append(reasons, strings.TrimPrefix(part+": "+strings.ReplaceAll(r.late[part].Error(), "\n", "; "), ": "))
		}
		if len(reasons) > 0 {
			p.State, p.Detail = stateLate, strings.Join(reasons, "; ")
		}
		status.Phases = append(status.Phases, p)
	}
	facts := slices.Clone(s.facts)
	s.mu.Unlock()
	for _, one := range facts { // without the lock, since the functions may take other locks
		status.Facts = append(status.Facts, factStatus{one.name, one.value()})
	}
	return status
}

// ServeHTTP returns /statusz as a table, or as JSON by ?format=json.
func (s *startup) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	status := s.status()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if request.URL.Query().Get("format") == "json" {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(status) // an error means that the client is gone
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	round := func(seconds float64) time.Duration {
		return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
	}
	fmt.Fprintf(table, "fairlead %s, up %s\n\nPHASE\tSTATE\tAFTER\tTOOK\tDETAIL\n", status.Version, round(status.Seconds))
	for _, p := range status.Phases {
		after, took := round(p.AfterSeconds).String(), round(p.Seconds).String()
		if p.State == statePending || p.State == stateSkipped {
			after, took = "-", "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", p.Phase, p.State, after, took, p.Detail)
	}
	fmt.Fprintln(table)
	for _, one := range status.Facts {
		fmt.Fprintf(table, "%s\t%s\n", one.Name, one.Value)
	}
	_ = table.Flush() // an error means that the client is gone
}
