// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/test/framework"
	"github.com/fairlead-dev/fairlead/test/soak/counters"
	"github.com/fairlead-dev/fairlead/test/soak/failures"
	"github.com/fairlead-dev/fairlead/test/soak/leaderperiods"
	"github.com/fairlead-dev/fairlead/test/soak/load"
	"github.com/fairlead-dev/fairlead/test/soak/proxy"
)

// Options of Run.
type Options struct {
	// Root is the checkout whose manifests and operator are used. Required.
	Root string
	// Operator is a program to run instead of test/cmd/operator of the checkout. It must write down
	// what it reconciles. Default: none.
	Operator string
	// Only runs the scenarios whose name it matches. Default: all.
	Only *regexp.Regexp
	// Requests is how many are sent at least in each row. Those that are about an outage more than about
	// load send a quarter. Default 20,000.
	Requests int
	// Seed decides what is sent. Default 0.
	Seed uint64
	// Rate is how many steps the load takes in a second at most. Default load.DefaultRate.
	Rate float32
	// Limit is how long one scenario may take. Default 30 min.
	Limit time.Duration
	// Output takes progress, and the replicas' logs where a row is not sound. Default: nothing.
	Output io.Writer
	// Done is called with each row as soon as it is there. Defaults to nil: it is not called.
	Done func(Row)
}

const (
	defaultRequests = 20_000
	defaultLimit    = 30 * time.Minute
	// before and after are the parts, in percent, of the requests that are sent at least before
	// something happens and after it.
	before, after = 5, 10
)

// Scenarios are the names of all, in their order.
func Scenarios() []string {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return names
}

// Run plays the scenarios one after the other, each on a control plane of its own, and returns a row
// for each. What goes wrong in one is a fault of its row, and the next is played all the same. The
// error is that nothing matches, or that ctx ended.
func Run(ctx context.Context, o Options) ([]Row, error) {
	o.Requests = cmp.Or(o.Requests, defaultRequests)
	o.Limit = cmp.Or(o.Limit, defaultLimit)
	if o.Output == nil {
		o.Output = io.Discard
	}
	var rows []Row
	for _, s := range scenarios {
		if o.Only != nil && !o.Only.MatchString(s.name) {
			continue
		}
		row := runScenario(ctx, o, s)
		if ctx.Err() != nil {
			return rows, fmt.Errorf("%s: %w", s.name, context.Cause(ctx))
		}
		rows = append(rows, row)
		if o.Done != nil {
			o.Done(row)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no scenario matches; there are: %s", strings.Join(Scenarios(), ", "))
	}
	return rows, nil
}

// runScenario runs one scenario.
func runScenario(ctx context.Context, o Options, s scenario) Row {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Limit, fmt.Errorf("not over after %s", o.Limit))
	defer cancel()
	_, _ = fmt.Fprintf(o.Output, "%s %s\n", time.Now().Format(clockFormat), s.name)
	began := time.Now()
	attempt := &attempt{counters: counters.New()}
	var err error
	if attempt.site, err = openSite(ctx, o, s); err != nil {
		return Row{Scenario: s.name, Took: time.Since(began), Faults: []string{"it could not begin: " + err.Error()}}
	}
	if s.rare {
		o.Requests /= 4
	}
	if s.rate > 0 {
		o.Rate = s.rate
	}
	attempt.requests, attempt.seed = o.Requests, o.Seed
	err = attempt.begin(ctx)
	if err == nil {
		err = attempt.underLoad(ctx, o, s)
	}
	row := attempt.row(s)
	row.fault(err)
	attempt.prove(s, &row)
	if !row.Sound() {
		attempt.logs(o.Output)
	}
	row.fault(attempt.close())
	row.Took = time.Since(began)
	return row
}

// begin waits until every replica is where it should be, and reached.
func (a *attempt) begin(ctx context.Context) error {
	if err := a.inService(ctx, replicas); err != nil {
		return err
	}
	return reachable(ctx, a.site)
}

// reachable waits until the API server reaches the webhooks, with what was published for it.
func reachable(ctx context.Context, s *site) error {
	return framework.Eventually(ctx, startTimeout, func(ctx context.Context) error {
		return probe(ctx, s)
	})
}

// probe sends one of every request that the load may send first.
func probe(ctx context.Context, s *site) error {
	t := counters.New()
	err := load.Once(ctx, load.Options{Config: s.config, Namespace: namespace, Counters: t})
	if sum := t.Sum(); err == nil && sum.Failed+sum.Unavailable+sum.Deferred > 0 {
		return errors.New(sum.Reasons[0].Text)
	}
	return err
}

// attempt is one run of a scenario.
type attempt struct {
	*site
	counters *counters.Counters
	requests int // that are sent at least
	seed     uint64
	notes    []string
	fault    []string
	// losses are the calls that were lost with a replica.
	losses []proxy.Loss
}

// note says what happened or was proven.
func (a *attempt) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
	a.printf(format, args...)
}

// wrong says what must not be.
func (a *attempt) wrong(format string, args ...any) {
	a.fault = append(a.fault, fmt.Sprintf(format, args...))
	a.printf("WRONG: "+format, args...)
}

// underLoad does what the scenario does while requests are sent: some before it, and some after.
func (a *attempt) underLoad(ctx context.Context, o Options, s scenario) error {
	loading, stop := context.WithCancel(ctx)
	defer stop()
	loaded := make(chan error, 1)
	go func() {
		loaded <- load.Run(loading, load.Options{
			Config: a.config, Namespace: namespace, Counters: a.counters, Seed: o.Seed, Rate: o.Rate,
		})
	}()
	err := a.sent(ctx, o.Requests*before/100)
	if err == nil {
		err = s.do(ctx, a)
	}
	if err == nil {
		err = a.sent(ctx, max(o.Requests, a.counters.Sent()+o.Requests*after/100))
	}
	stop()
	return errors.Join(err, <-loaded)
}

// sent waits until so many requests were sent in all.
func (a *attempt) sent(ctx context.Context, want int) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for a.counters.Sent() < want {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
	return nil
}

// row returns the result of the load. Where the control plane stayed, it had no reason to be unavailable.
func (a *attempt) row(s scenario) Row {
	sum := a.counters.Sum()
	row := Row{
		Scenario: s.name, Sent: sum.Sent, Failed: sum.Failed, Unavailable: sum.Unavailable,
		P50: sum.P50, P99: sum.P99, Notes: slices.Clone(a.notes), Faults: slices.Clone(a.fault), Reasons: sum.Reasons,
	}
	if sum.Deferred > 0 {
		row.Notes = append(row.Notes, fmt.Sprintf("%d requests were told to come again (429), as the API server filled a cache", sum.Deferred))
	}
	if !s.controlPlane {
		row.Failed += row.Unavailable
	} else {
		row.Notes = append(row.Notes, fmt.Sprintf("%d requests came while the API server or etcd was away", row.Unavailable))
	}
	row.Reasons = slices.DeleteFunc(row.Reasons, func(r counters.Reason) bool {
		return r.Outcome == counters.Deferred || s.controlPlane && r.Outcome == counters.Unavailable
	})
	if s.loses {
		a.explain(&row, sum.Lost)
	}
	return row
}

// explain says which requests failed with the replica that was lost, and names those that did not.
func (a *attempt) explain(row *Row, failed []counters.Request) {
	verdict := failures.Explain(failed, a.losses)
	row.InTheDead, row.SentToTheDead = len(verdict.Held), len(verdict.Missed)
	if row.Failed > 0 {
		row.Notes = append(row.Notes, fmt.Sprintf("of %d that failed, %d were in the replica that was lost, %d were sent to it before the Service knew, %d are unexplained",
			row.Failed, row.InTheDead, row.SentToTheDead, row.Failed-row.Explained()))
	}
	for _, r := range verdict.Unexplained[:min(len(verdict.Unexplained), maxUnexplained)] {
		row.Faults = append(row.Faults, fmt.Sprintf("unexplained, from %s for %s: %s: %s",
			r.Sent.Format(clockFormat), r.Took.Round(time.Millisecond), r.Kind, r.Reason))
	}
}

// maxUnexplained is how many requests are named that failed for no known reason.
const maxUnexplained = 20

// prove judges what the replicas wrote down, and their logs.
func (a *attempt) prove(s scenario, row *Row) {
	var all []*framework.Replica
	for _, r := range slices.Concat(a.gone, a.running()) {
		all = append(all, r.Replica)
	}
	for _, complaint := range framework.Complaints(all...) {
		// An API server that has just begun forbids everything until it has read the roles.
		if !s.controlPlane || strings.Contains(strings.ToLower(complaint), "panic") {
			row.Faults = append(row.Faults, complaint)
		}
	}
	file, err := os.Open(a.record)
	if err != nil {
		row.Faults = append(row.Faults, "who reconciled when is not known: "+err.Error())
		return
	}
	defer func() { _ = file.Close() }()
	events, err := leaderperiods.Read(file)
	if err != nil {
		row.Faults = append(row.Faults, "who reconciled when is not known: "+err.Error())
		return
	}
	verdict := leaderperiods.Check(events, a.deaths, time.Now())
	row.Faults = append(row.Faults, verdict.Faults...)
	if len(verdict.Reigns) == 0 || verdict.Reconciles == 0 {
		row.Faults = append(row.Faults, "no replica is known to have reconciled anything")
		return
	}
	note := fmt.Sprintf("%d reconciles in %d reigns, no two at one instant", verdict.Reconciles, len(verdict.Reigns))
	if len(verdict.Faults) > 0 {
		note = fmt.Sprintf("%d reconciles in %d reigns, TWO AT ONE INSTANT", verdict.Reconciles, len(verdict.Reigns))
	}
	if gaps := verdict.Handovers(); len(gaps) > 0 {
		note += fmt.Sprintf("; no replica led for %s at most", verdict.Longest().Round(time.Millisecond))
	}
	row.Notes = append(row.Notes, note)
}

// logs prints the ends of the replicas' logs, without which the cause could not be found.
func (a *attempt) logs(w io.Writer) {
	for _, r := range slices.Concat(a.gone, a.running()) {
		text, err := r.Logs()
		if err != nil {
			text = err.Error()
		}
		if len(text) > maxLog {
			text = "…" + text[len(text)-maxLog:]
		}
		_, _ = fmt.Fprintf(w, "--- %s\n%s\n", r.ID, text)
	}
}

// maxLog is how much of each log is printed.
const maxLog = 2 << 10
