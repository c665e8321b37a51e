// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Phase is one step of the start.
type Phase string

// The phases, in their order.
const (
	// APIServer waits until the API server answers.
	APIServer Phase = "api-server"
	// Certificates waits until there is a serving certificate and a root.
	Certificates Phase = "certificates"
	// WebhookServer waits until the webhook server answers itself over TLS.
	WebhookServer Phase = "webhook-server"
	// CAPublished waits until the API server has the root.
	CAPublished Phase = "ca-published"
	// Caches waits until the informers have listed. Objects may be converted meanwhile.
	Caches Phase = "caches"
	// Election waits until this replica leads, which on a standby is forever.
	Election Phase = "election"
	// Reconcilers starts the controllers.
	Reconcilers Phase = "reconcilers"
)

// Order is the order of the phases.
func Order() []Phase {
	return []Phase{APIServer, Certificates, WebhookServer, CAPublished, Caches, Election, Reconcilers}
}

// State is the state of a phase.
type State string

// The states of a phase.
const (
	Pending State = "pending"
	Running State = "running"
	Done    State = "done"
	Skipped State = "skipped"
	Failed  State = "failed"
	// Late is a phase that the start went on without. It is still attempted.
	Late State = "late"
)

// Options configure a Recorder.
type Options struct {
	// Logger gets one line for each phase.
	Logger logr.Logger
	// Metrics gets fairlead_startup_phase_seconds. Nil means no metric.
	Metrics prometheus.Registerer
	// Version is shown on /statusz.
	Version string
	// Clock is the clock. Nil means the real one.
	Clock clock.PassiveClock
	// OnLate is called when a part of a phase becomes late, and for each other reason that it has. It must not
	// block. Nil means that it is not called.
	OnLate func(phase Phase, part string, reason error)
}

// Recorder records the phases of one start. Its methods may be called at the same time.
type Recorder struct {
	logger  logr.Logger
	version string
	clock   clock.PassiveClock
	seconds *prometheus.GaugeVec
	late    *prometheus.GaugeVec
	onLate  func(Phase, string, error)
	started time.Time

	mu    sync.Mutex
	rows  []row
	facts []fact
}

type row struct {
	phase    Phase
	state    State
	after    time.Duration // from the start of the process to the start of the phase
	took     time.Duration
	begun    time.Time
	progress string
	waits    map[string]int   // what its parts wait for, and how many do
	late     map[string]error // why parts of it are late, by name
}

type fact struct {
	name  string
	value func() string
}

// New starts recording: the time since now is what /statusz shows.
func New(o Options) (*Recorder, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.OnLate == nil {
		o.OnLate = func(Phase, string, error) {}
	}
	r := &Recorder{logger: o.Logger, version: o.Version, clock: o.Clock, onLate: o.OnLate, started: o.Clock.Now()}
	for _, phase := range Order() {
		r.rows = append(r.rows, row{phase: phase, state: Pending, waits: map[string]int{}, late: map[string]error{}})
	}
	r.late = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fairlead_startup_phase_late",
		Help: "1 for a phase of the start that the start went on without, and that is still attempted. Otherwise it is 0 or absent.",
	}, []string{"phase"})
	r.seconds = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fairlead_startup_phase_seconds",
		Help: "How long each phase of the start took, in seconds. A phase that has not ended is absent.",
	}, []string{"phase"})
	if o.Metrics != nil {
		for _, metric := range []prometheus.Collector{r.seconds, r.late} {
			if err := o.Metrics.Register(metric); err != nil {
				return nil, fmt.Errorf("startup metrics: %w", err)
			}
		}
	}
	return r, nil
}

// Do runs one phase and records how it went. The error of the step comes back with the name of
// the phase.
func (r *Recorder) Do(ctx context.Context, phase Phase, step func(context.Context) error) error {
	end := r.Begin(phase)
	err := step(ctx)
	end(err)
	if err != nil {
		return fmt.Errorf("%s: %w", phase, err)
	}
	return nil
}

// Begin records the start of a phase, and the function it returns its end, for a phase that ends
// elsewhere than it begins.
func (r *Recorder) Begin(phase Phase) (end func(error)) {
	now := r.clock.Now()
	r.change(phase, func(row *row) {
		row.state, row.begun, row.after, row.progress = Running, now, now.Sub(r.started), ""
	})
	r.logger.V(1).Info("start: phase begins", "phase", phase)
	return func(err error) {
		if err != nil {
			r.end(phase, Failed, err.Error())
			return
		}
		r.end(phase, Done, "")
	}
}

// Skip records that a phase is not needed, and why.
func (r *Recorder) Skip(phase Phase, reason string) {
	r.change(phase, func(row *row) { row.state, row.progress = Skipped, reason })
	r.logger.Info("start: phase skipped", "phase", phase, "reason", reason)
}

// Progress shows how far a running phase has come.
func (r *Recorder) Progress(phase Phase, format string, args ...any) {
	r.change(phase, func(row *row) { row.progress = fmt.Sprintf(format, args...) })
}

// Wait shows that a part of a running phase waits for something, until the returned function is called.
func (r *Recorder) Wait(phase Phase, what string) (done func()) {
	add := func(n int) {
		r.change(phase, func(row *row) {
			if row.waits[what] += n; row.waits[what] == 0 {
				delete(row.waits, what)
			}
		})
	}
	add(1)
	return func() { add(-1) }
}

// detail returns what a phase waits for, or why it failed or was skipped.
func (r *row) detail() string {
	if r.state != Running || len(r.waits) == 0 {
		return r.progress
	}
	waits := "waiting for " + strings.Join(slices.Sorted(maps.Keys(r.waits)), ", ")
	if r.progress != "" {
		waits += "; " + r.progress
	}
	return waits
}

// SetLate records that the start goes on without a part of a phase, and why. The part is empty where the phase has
// only one. A nil reason means that the part is no longer late.
func (r *Recorder) SetLate(phase Phase, part string, reason error) {
	news, cleared := false, false
	r.change(phase, func(row *row) {
		before, was := row.late[part]
		if reason == nil {
			delete(row.late, part)
			cleared = was
		} else {
			row.late[part] = reason
			news = !was || before.Error() != reason.Error()
		}
		value := 0.0
		if len(row.late) > 0 {
			value = 1
		}
		r.late.WithLabelValues(string(phase)).Set(value)
	})
	switch {
	case news:
		r.logger.Error(reason, "start: going on without this phase, which is attempted again", "phase", phase, "part", part)
		r.onLate(phase, part, reason)
	case cleared:
		r.logger.Info("start: a late phase is done", "phase", phase, "part", part)
	}
}

// LateError returns nil where no part of any phase is late. Otherwise it names each with its reason, in the order of the
// phases.
func (r *Recorder) LateError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, row := range r.rows {
		if reason := row.lateReason(); reason != "" {
			errs = append(errs, fmt.Errorf("the start went on without %s: %s", row.phase, reason))
		}
	}
	return errors.Join(errs...)
}

// lateReason joins the reasons of the parts that are late; empty where none is.
func (r *row) lateReason() string {
	reasons := make([]string, 0, len(r.late))
	for _, part := range slices.Sorted(maps.Keys(r.late)) {
		reason := strings.ReplaceAll(r.late[part].Error(), "\n", "; ")
		if part != "" {
			reason = part + ": " + reason
		}
		reasons = append(reasons, reason)
	}
	return strings.Join(reasons, "; ")
}

// SetInfo adds a line to /statusz that is computed whenever the page is read, or puts it in the place of
// the one of that name. The function must not block.
func (r *Recorder) SetInfo(name string, value func() string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	added := fact{name: name, value: value}
	if i := slices.IndexFunc(r.facts, func(one fact) bool { return one.name == name }); i >= 0 {
		r.facts[i] = added
		return
	}
	r.facts = append(r.facts, added)
}

func (r *Recorder) end(phase Phase, state State, progress string) {
	now := r.clock.Now()
	var took time.Duration
	r.change(phase, func(row *row) {
		row.state, row.took, row.progress = state, now.Sub(row.begun), progress
		took = row.took
	})
	if state == Failed {
		// The error itself is returned, and logged once by the caller that ends the process.
		r.logger.Info("start: phase failed", "phase", phase, "seconds", took.Seconds())
		return
	}
	r.seconds.WithLabelValues(string(phase)).Set(took.Seconds())
	r.logger.Info("start: phase done", "phase", phase, "seconds", took.Round(time.Microsecond).Seconds(), "sinceStart",
		now.Sub(r.started).Round(time.Microsecond).Seconds())
}

func (r *Recorder) change(phase Phase, edit func(*row)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.rows, func(row row) bool { return row.phase == phase }); i >= 0 {
		edit(&r.rows[i])
	}
}
