// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/internal/leaderelection"
)

// callLog is what happened, in order.
type callLog struct {
	mu      sync.Mutex
	entries []string
	written chan struct{}
}

func (c *callLog) write(entry string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, entry)
	close(c.written)
	c.written = make(chan struct{})
}

func (c *callLog) read() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.entries)
}

// await returns when the entry is there.
func (c *callLog) await(t *testing.T, entry string) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		c.mu.Lock()
		there, written := slices.Contains(c.entries, entry), c.written
		c.mu.Unlock()
		if there {
			return
		}
		select {
		case <-written:
		case <-limit:
			t.Fatalf("never %q: %q", entry, c.read())
		}
	}
}

// runs writes when a part begins and ends.
func (c *callLog) runs(name string) Run {
	return func(ctx context.Context) error {
		c.write("+" + name)
		<-ctx.Done()
		c.write("-" + name)
		return nil
	}
}

func (c *callLog) does(name string) func(context.Context) error {
	return func(context.Context) error {
		c.write(name)
		return nil
	}
}

// staged is a lifecycle with what its phases run, and the controllers that it creates.
type staged struct {
	*Lifecycle
	*Leader
	made     *Controllers
	recorder *phases.Recorder
	skip     map[phases.Phase]string

	prepare, refresh, webhook, ready, publish, republish Run
	warningCache                                         Run // nil: there are controllers
}

// fakes is a lifecycle of parts that only write in the diary. Each phase waits for the part that
// it started, so that the order is the same every time.
func fakes(t *testing.T) (*staged, *callLog) {
	t.Helper()
	d := &callLog{written: make(chan struct{})}
	recorder, err := phases.New(phases.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made := &Controllers{
		Caches: []Component{{"cache", func(ctx context.Context) error { d.await(t, "+republish"); return d.runs("cache")(ctx) }}},
		Sync:   func(context.Context) error { d.await(t, "+cache"); d.write("synced"); return nil },
		Reconcilers: []Reconciler{
			{"externalservice", d.does("warmed"), d.runs("reconcile")},
		},
	}
	return &staged{
		made: made, recorder: recorder,
		prepare:   d.does("certificate"),
		refresh:   d.runs("refresh"),
		webhook:   func(ctx context.Context) error { d.await(t, "+refresh"); return d.runs("webhook")(ctx) },
		ready:     func(context.Context) error { d.await(t, "+webhook"); d.write("ready"); return nil },
		publish:   d.does("published"),
		republish: d.runs("republish"),
		Lifecycle: &Lifecycle{
			Attempts: Attempts{Recorder: recorder}, Logger: logr.Discard(), StopTimeout: 20 * time.Second, WorkTimeout: 20 * time.Second,
			Servers:   []Component{{"probes", d.runs("probes")}},
			Reachable: func(context.Context) error { d.await(t, "+probes"); return nil },
		},
		Leader: &Leader{
			Attempts: Attempts{Recorder: recorder}, Warmup: true,
			Create: func(context.Context) (*Controllers, error) { return made, nil },
			Elect: func(ctx context.Context, lead func(context.Context) error) error {
				d.write("elected")
				err := lead(ctx)
				d.write("released")
				return err
			},
		},
	}, d
}

// build makes the phases, as assemble does.
func (s *staged) build() {
	prepared, attempted := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(attempted) })
	all := []Phase{
		{Name: phases.Certificates, Stage: CertificateStage, Start: Only("certificates", After(prepared, s.refresh)), Ready: func(ctx context.Context) error {
			err := s.prepare(ctx)
			if err == nil {
				close(prepared)
			}
			return err
		}},
		{Name: phases.WebhookServer, Stage: WebhookStage, Start: Only("webhook server", s.webhook), Ready: s.ready},
		{Name: phases.CAPublished, Stage: CertificateStage, Start: Only("CA injection", After(attempted, s.republish)), Ready: func(ctx context.Context) error {
			defer first()
			return s.publish(ctx)
		}},
		{Name: phases.Caches, Stage: InformerStage, Start: s.StartCaches, Ready: s.CachesReady},
		{Name: phases.Election, Skip: s.skip[phases.Election]},
		{Name: phases.Reconcilers, Stage: ReconcilerStage, Start: s.StartReconcilers},
	}
	if s.warningCache != nil {
		all[3] = Phase{Name: phases.Caches, Stage: BackgroundStage, Start: Only("caches of admission", s.warningCache)}
	}
	for _, p := range all {
		p.Skip = s.skip[p.Name]
		if p.Skip != "" || p.Start != nil {
			s.Phases = append(s.Phases, p)
		}
	}
}

// ran starts a lifecycle and returns its error.
func ran(ctx context.Context, l *staged) <-chan error {
	l.build()
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	return done
}

func result(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatal("it never ends")
		return nil
	}
}

var (
	started = []string{"+probes", "certificate", "+refresh", "+webhook", "ready", "published", "+republish", "+cache", "synced"}
	stopped = []string{"-reconcile", "released", "-webhook"}
)

func TestTheOrderOfStartAndStop(t *testing.T) {
	for name, test := range map[string]struct {
		change func(l *staged)
		middle []string
		ended  []string
	}{
		"election, warm":    {func(*staged) {}, []string{"warmed", "elected", "+reconcile"}, stopped},
		"election, cold":    {func(l *staged) { l.Warmup = false }, []string{"elected", "warmed", "+reconcile"}, stopped},
		"no election, warm": {func(l *staged) { l.Elect = nil }, []string{"warmed", "+reconcile"}, []string{"-reconcile", "-webhook"}},
		"no election, cold": {func(l *staged) { l.Elect, l.Warmup = nil, false }, []string{"warmed", "+reconcile"}, []string{"-reconcile", "-webhook"}},
	} {
		t.Run(name, func(t *testing.T) {
			l, d := fakes(t)
			test.change(l)
			ctx, cancel := context.WithCancel(context.Background())
			done := ran(ctx, l)
			d.await(t, "+reconcile")
			if diff := cmp.Diff(slices.Concat(started, test.middle), d.read()); diff != "" {
				t.Errorf("start, -want +got:\n%s", diff)
			}
			before := len(d.read())
			cancel()
			if err := result(t, done); err != nil {
				t.Error(err)
			}
			got := d.read()[before:]
			// Refreshing the certificate and publishing the root end together.
			slices.Sort(got[len(test.ended) : len(test.ended)+2])
			if diff := cmp.Diff(slices.Concat(test.ended, []string{"-refresh", "-republish", "-cache", "-probes"}), got); diff != "" {
				t.Errorf("stop, -want +got:\n%s", diff)
			}
		})
	}
}

func TestNothingToPublishIsAPhaseThatIsSkipped(t *testing.T) {
	l, d := fakes(t)
	l.publish, l.skip = nil, map[phases.Phase]string{phases.CAPublished: "cert-manager does"}
	l.made.Caches = []Component{{"cache", d.runs("cache")}}
	ctx, cancel := context.WithCancel(context.Background())
	done := ran(ctx, l)
	d.await(t, "+reconcile")
	cancel()
	if err := result(t, done); err != nil {
		t.Error(err)
	}
	if row := l.recorder.Status().Phases[3]; row.State != phases.Skipped || row.Detail != "cert-manager does" {
		t.Errorf("row %+v", row)
	}
}

func TestALostLeaseEndsTheReconcilersThenTheWebhooksAndIsTheError(t *testing.T) {
	l, d := fakes(t)
	lose := make(chan struct{})
	l.Elect = func(ctx context.Context, lead func(context.Context) error) error {
		leading, stop := context.WithCancelCause(ctx)
		go func() { <-lose; stop(leaderelection.ErrLost) }()
		_ = lead(leading)
		return leaderelection.ErrLost
	}
	done := ran(context.Background(), l)
	d.await(t, "+reconcile")
	before := len(d.read())
	close(lose)
	if err := result(t, done); !errors.Is(err, leaderelection.ErrLost) || err.Error() != "leader election lost" {
		t.Errorf("error %v", err)
	}
	if got := d.read()[before:]; got[0] != "-reconcile" || got[1] != "-webhook" || got[len(got)-1] != "-probes" {
		t.Errorf("stop %q", got)
	}
}

func TestWorkThatOutlivesTheLeaseEndsTheProcessWithoutAnyDrain(t *testing.T) {
	l, d := fakes(t)
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	l.made.Reconcilers = one(d.does("warmed"), func(context.Context) error {
		d.write("+stuck")
		<-over
		return nil
	})
	l.Elect = func(ctx context.Context, lead func(context.Context) error) error {
		leading, stop := context.WithCancelCause(ctx)
		go func() { _ = lead(leading) }()
		d.await(t, "+stuck")
		stop(leaderelection.ErrLost)
		return fmt.Errorf("%w, and the reconcilers still run: %w", leaderelection.ErrLost, leaderelection.ErrStillRunning)
	}
	err := result(t, ran(context.Background(), l))
	if !errors.Is(err, leaderelection.ErrStillRunning) || !strings.Contains(err.Error(), "process must end") {
		t.Errorf("error %v", err)
	}
	if slices.Contains(d.read(), "-webhook") {
		t.Error("it drained while what must end went on")
	}
}

func TestAPartThatFailsStopsEverythingAndIsTheError(t *testing.T) {
	broken := errors.New("address :9443 is in use")
	failing := func(context.Context) error { return broken }
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, test := range map[string]struct {
		change func(l *staged)
		want   string
	}{
		"the API server":     {func(l *staged) { l.Reachable = failing }, "api-server: address"},
		"the probes":         {func(l *staged) { l.Servers = []Component{{"probes", failing}}; l.Reachable = waits }, "address"},
		"the webhook server": {func(l *staged) { l.webhook = failing; l.ready = waits }, "address"},
		"the cache":          {func(l *staged) { l.made.Caches = []Component{{"cache", failing}}; l.made.Sync = waits }, "address"},
		"a reconciler":       {func(l *staged) { l.made.Reconcilers = one(func(context.Context) error { return nil }, failing) }, "address"},
		"the election": {func(l *staged) {
			l.Elect = func(context.Context, func(context.Context) error) error { return broken }
		}, "address"},
		"a part that returns": {func(l *staged) {
			l.refresh = func(context.Context) error { return nil }
			l.ready = waits
			l.webhook = waits
		}, "certificates: ended unexpectedly"},
		"a part that panics": {func(l *staged) {
			l.refresh = func(context.Context) error { panic(broken) } //nolint:forbidigo // what it tests
			l.ready = waits
			l.webhook = waits
		}, "certificates: panic: address"},
	} {
		t.Run(name, func(t *testing.T) {
			l, d := fakes(t)
			test.change(l)
			err := result(t, ran(context.Background(), l))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v", err)
			}
			begun, ended := 0, 0
			for _, entry := range d.read() {
				switch entry[0] {
				case '+':
					begun++
				case '-':
					ended++
				}
			}
			if begun != ended {
				t.Errorf("parts are left behind: %q", d.read())
			}
		})
	}
}

// A process that runs bears each of these, so a start must, too. What is late is done without a restart.
func TestAPhaseThatFailsIsLateAndTheStartGoesOn(t *testing.T) {
	broken := errors.New("no such CRD")
	for name, test := range map[string]struct {
		change func(l *staged, d *callLog, fails func(next Run) Run)
		phase  int
		part   string
	}{
		"the certificate": {func(l *staged, d *callLog, fails func(Run) Run) {
			l.prepare, l.webhook = fails(l.prepare), d.runs("webhook")
		}, 1, ""},
		"the webhook server": {func(l *staged, _ *callLog, fails func(Run) Run) { l.ready = fails(l.ready) }, 2, ""},
		"publishing":         {func(l *staged, _ *callLog, fails func(Run) Run) { l.publish = fails(l.publish) }, 3, ""},
		"making controllers": {func(l *staged, _ *callLog, fails func(Run) Run) {
			create := l.Create
			l.Create = func(ctx context.Context) (*Controllers, error) {
				if err := fails(func(context.Context) error { return nil })(ctx); err != nil {
					return nil, err
				}
				return create(ctx)
			}
		}, 4, ""},
		"syncing": {func(l *staged, _ *callLog, fails func(Run) Run) {
			l.made.Sync = fails(l.made.Sync)
			l.made.Reconcilers = one(untilStarted, l.made.Reconcilers[0].Start)
		}, 4, "warnings of admission"},
		"warming": {func(l *staged, _ *callLog, fails func(Run) Run) {
			other := one(fails(untilStarted), untilDone)[0]
			other.Name = "chaospod"
			l.made.Reconcilers = append(l.made.Reconcilers, other)
		}, 4, "chaospod"},
		"warming, cold": {func(l *staged, _ *callLog, fails func(Run) Run) {
			other := one(fails(untilStarted), untilDone)[0]
			other.Name = "chaospod"
			l.Warmup, l.made.Reconcilers = false, append(l.made.Reconcilers, other)
		}, 6, "chaospod"},
		"a panic": {func(l *staged, _ *callLog, fails func(Run) Run) {
			l.publish = fails(func(context.Context) error { panic(broken) }) //nolint:forbidigo // what it tests
		}, 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l, d := fakes(t)
			var mended atomic.Bool
			l.Lifecycle.Attempts.Pause, l.Leader.Attempts.Pause = time.Millisecond, time.Millisecond
			test.change(l, d, func(next Run) Run {
				return func(ctx context.Context) error {
					if !mended.Load() {
						return broken
					}
					if name == "a panic" {
						return nil
					}
					return next(ctx)
				}
			})
			ctx, cancel := context.WithCancel(context.Background())
			done := ran(ctx, l)
			if name != "making controllers" {
				d.await(t, "+reconcile")
			}
			awaitState(t, l.recorder, test.phase, phases.Late)
			row, degraded := l.recorder.Status().Phases[test.phase], l.recorder.LateError()
			if !strings.Contains(row.Detail, broken.Error()) || degraded == nil || !strings.Contains(degraded.Error(), test.part) || !strings.Contains(degraded.Error(), broken.Error()) {
				t.Errorf("row %+v, degraded: %v", row, degraded)
			}
			mended.Store(true)
			awaitState(t, l.recorder, test.phase, phases.Done)
			d.await(t, "+reconcile")
			if err := l.recorder.LateError(); err != nil {
				t.Errorf("degraded: %v", err)
			}
			cancel()
			if err := result(t, done); err != nil {
				t.Error(err)
			}
		})
	}
}

func untilStarted(context.Context) error { return nil }

// awaitState waits until a phase is in a state.
func awaitState(t *testing.T, recorder *phases.Recorder, phase int, want phases.State) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		row := recorder.Status().Phases[phase]
		if row.State == want {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%s is %s, not %s: %s", row.Phase, row.State, want, row.Detail)
		}
	}
}

func TestAnElectionDoesNotWaitForACacheThatHangs(t *testing.T) {
	l, d := fakes(t)
	l.Patience = time.Millisecond
	l.made.Reconcilers = append(l.made.Reconcilers, Reconciler{"chaospod", untilDone, untilDone})
	ctx, cancel := context.WithCancel(context.Background())
	done := ran(ctx, l)
	d.await(t, "+reconcile")
	if err := l.recorder.LateError(); err == nil || !strings.Contains(err.Error(), "chaospod: not done within 1ms") {
		t.Errorf("degraded: %v", err)
	}
	cancel()
	if err := result(t, done); err != nil {
		t.Error(err)
	}
}

// Two installations would restart each workload twice.
func TestALeaderReconcilesNothingThatAnotherInstallationReconciles(t *testing.T) {
	l, d := fakes(t)
	freed := make(chan struct{})
	l.Claim = func(ctx context.Context, waiting func(error)) error {
		waiting(errors.New("another installation reconciles"))
		d.write("waiting")
		select {
		case <-freed:
		case <-ctx.Done():
		}
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := ran(ctx, l)
	d.await(t, "waiting")
	awaitState(t, l.recorder, 6, phases.Late)
	if slices.Contains(d.read(), "+reconcile") {
		t.Error("it reconciles")
	}
	close(freed)
	d.await(t, "+reconcile")
	awaitState(t, l.recorder, 6, phases.Done)
	cancel()
	if err := result(t, done); err != nil {
		t.Error(err)
	}
}

func one(warm, start Run) []Reconciler { return []Reconciler{{"externalservice", warm, start}} }

func TestToldToStopInTheMiddleOfAPhaseIsNoError(t *testing.T) {
	for name, change := range map[string]func(*staged, Run){
		"API server":  func(l *staged, waits Run) { l.Reachable = waits },
		"certificate": func(l *staged, waits Run) { l.prepare = waits },
		"webhook":     func(l *staged, waits Run) { l.ready = waits },
		"publishing":  func(l *staged, waits Run) { l.publish = waits },
		"syncing":     func(l *staged, waits Run) { l.made.Sync = waits },
		"warming":     func(l *staged, waits Run) { l.made.Reconcilers = one(waits, waits) },
		"election": func(l *staged, waits Run) {
			l.Elect = func(ctx context.Context, _ func(context.Context) error) error { _ = waits(ctx); return nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, d := fakes(t)
			change(l, func(ctx context.Context) error {
				d.write("waiting")
				<-ctx.Done()
				return fmt.Errorf("gave up: %w", ctx.Err())
			})
			ctx, cancel := context.WithCancel(context.Background())
			done := ran(ctx, l)
			d.await(t, "waiting")
			cancel()
			if err := result(t, done); err != nil {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAReconcilerThatDoesNotEndIsNamedAndTheWebhooksAreStillDrained(t *testing.T) {
	l, d := fakes(t)
	l.WorkTimeout = time.Millisecond
	hung := make(chan struct{})
	t.Cleanup(func() { close(hung) })
	l.made.Reconcilers = one(d.does("warmed"), func(context.Context) error {
		d.write("+hung")
		<-hung
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := ran(ctx, l)
	d.await(t, "+hung")
	cancel()
	if err := result(t, done); err == nil || !strings.Contains(err.Error(), "still running") || !strings.Contains(err.Error(), "reconcilers") {
		t.Errorf("error %v", err)
	}
	if !slices.Contains(d.read(), "-webhook") {
		t.Errorf("webhooks were not drained: %q", d.read())
	}
}
