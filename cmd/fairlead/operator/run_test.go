// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// callLog records calls in their order.
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

// has returns true when the entry is there, or false when ctx ends before.
func (c *callLog) has(ctx context.Context, entry string) bool {
	for {
		c.mu.Lock()
		there, written := slices.Contains(c.entries, entry), c.written
		c.mu.Unlock()
		if there {
			return true
		}
		select {
		case <-written:
		case <-ctx.Done():
			return false
		}
	}
}

// await returns when the entry is there.
func (c *callLog) await(t *testing.T, entry string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if !c.has(ctx, entry) {
		t.Fatalf("never %q: %q", entry, c.read())
	}
}

// runs writes when a part begins and ends.
func (c *callLog) runs(name string) func(context.Context) error {
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

// testStartup returns the record of a start.
func testStartup(t *testing.T) *startup {
	t.Helper()
	s, err := newStartup(&assembly{logger: logr.Discard(), clock: clock.RealClock{}, metrics: prometheus.NewRegistry(), recordEvent: func(events.Event) {}, config: options.Default()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// halves is an operator of parts that only write in the log. Each waits for the one before it, so that the order is the same every
// time.
func halves(t *testing.T) (*Operator, *callLog) {
	t.Helper()
	d := &callLog{written: make(chan struct{})}
	s := testStartup(t)
	s.skip("a test", phaseCaches, phaseElection, phaseReconcilers)
	awaits := func(before, name string) component {
		return component{name, func(ctx context.Context) error {
			if !d.has(ctx, before) {
				return nil
			}
			return d.runs(name)(ctx)
		}}
	}
	return &Operator{
		servers:    []component{{"probes", d.runs("probes")}},
		reachable:  func(context.Context) error { d.await(t, "+probes"); return nil },
		background: []component{{"ranges", d.runs("ranges")}},
		serve: serving{
			certificates: []component{awaits("certificate", "refresh")},
			server:       []component{awaits("+refresh", "webhook")},
			phases: []attempt{
				{phaseCertificates, "", d.does("certificate")},
				{phaseWebhookServer, "", func(ctx context.Context) error {
					if d.has(ctx, "+webhook") {
						d.write("ready")
					}
					return ctx.Err()
				}},
				{phaseCAPublished, "", d.does("published")},
			},
		},
		reconcile: component{"manager", d.runs("manager")},
		startup:   s, pause: time.Millisecond, stopTimeout: 20 * time.Second, workTimeout: 20 * time.Second, logger: logr.Discard(),
	}, d
}

// ran starts an operator and returns its error.
func ran(ctx context.Context, o *Operator) <-chan error {
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
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

func TestTheManagerStartsAfterTheWebhooksAndStopsBeforeThem(t *testing.T) {
	o, d := halves(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := ran(ctx, o)
	d.await(t, "+manager")
	d.await(t, "+ranges")
	started := slices.DeleteFunc(d.read(), func(entry string) bool { return entry == "+ranges" }) // which nothing waits for
	if diff := cmp.Diff([]string{"+probes", "certificate", "+refresh", "+webhook", "ready", "published", "+manager"}, started); diff != "" {
		t.Errorf("start, -want +got:\n%s", diff)
	}
	before := len(d.read())
	cancel()
	if err := result(t, done); err != nil {
		t.Error(err)
	}
	stopped := d.read()[before:]
	slices.Sort(stopped[3:]) // the last end together
	if diff := cmp.Diff([]string{"-manager", "-webhook", "-refresh", "-probes", "-ranges"}, stopped); diff != "" {
		t.Errorf("stop, -want +got:\n%s", diff)
	}
}

func TestAManagerThatFailsIsTheErrorAndTheWebhooksAreDrained(t *testing.T) {
	o, d := halves(t)
	lose, lost := make(chan struct{}), errors.New("leader election lost")
	o.reconcile.run = func(context.Context) error { d.write("+manager"); <-lose; return lost }
	done := ran(t.Context(), o)
	d.await(t, "+manager")
	before := len(d.read())
	close(lose)
	if err := result(t, done); !errors.Is(err, lost) {
		t.Errorf("error %v", err)
	}
	if got := d.read()[before:]; !slices.Contains(got, "-webhook") || !slices.Contains(got, "-probes") {
		t.Errorf("stop %q", got)
	}
}

func TestAPartThatFailsStopsEverythingAndIsTheError(t *testing.T) {
	broken := errors.New("address :9443 is in use")
	failing := func(context.Context) error { return broken }
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, test := range map[string]struct {
		change func(o *Operator)
		want   string
	}{
		"the API server":      {func(o *Operator) { o.reachable = failing }, "address"},
		"the probes":          {func(o *Operator) { o.servers, o.reachable = []component{{"probes", failing}}, waits }, "address"},
		"the webhook server":  {func(o *Operator) { o.serve.server[0].run, o.serve.phases[1].try = failing, waits }, "address"},
		"a part that returns": {func(o *Operator) { o.background[0].run = func(context.Context) error { return nil } }, "ranges: ended unexpectedly"},
		"a part that panics": {func(o *Operator) {
			o.background[0].run = func(context.Context) error { panic(broken) } //nolint:forbidigo // what it tests
		}, "ranges: panic: address"},
	} {
		t.Run(name, func(t *testing.T) {
			o, d := halves(t)
			test.change(o)
			err := result(t, ran(t.Context(), o))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v", err)
			}
			left := map[string]int{}
			for _, entry := range d.read() {
				switch entry[0] {
				case '+':
					left[entry[1:]]++
				case '-':
					left[entry[1:]]--
				}
			}
			for part, n := range left {
				if n != 0 {
					t.Errorf("%s is left behind", part)
				}
			}
		})
	}
}

// A process that runs bears each of these, so a start must, too. What is late is done without a restart.
func TestAPhaseThatFailsIsLateAndTheStartGoesOn(t *testing.T) {
	for i, phase := range []string{phaseCertificates, phaseWebhookServer, phaseCAPublished} {
		for _, panics := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, panic: %t", phase, panics), func(t *testing.T) {
				o, d := halves(t)
				var mended atomic.Bool
				try := o.serve.phases[i].try
				o.serve.phases[i].try = func(ctx context.Context) error {
					switch {
					case mended.Load():
						return try(ctx)
					case panics:
						panic("no such CRD") //nolint:forbidigo // what it tests
					}
					return errors.New("no such CRD")
				}
				if i == 0 {
					o.serve.phases[1].try = func(context.Context) error { return nil } // the server waits for a certificate
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := ran(ctx, o)
				d.await(t, "+manager")
				awaitState(t, o.startup, i+1, stateLate)
				if err := o.startup.err(); err == nil || !strings.Contains(err.Error(), phase) || !strings.Contains(err.Error(), "no such CRD") {
					t.Errorf("degraded: %v", err)
				}
				mended.Store(true)
				awaitState(t, o.startup, i+1, stateDone)
				d.await(t, "+webhook")
				if err := o.startup.err(); err != nil {
					t.Errorf("degraded: %v", err)
				}
				cancel()
				if err := result(t, done); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// awaitState waits until a phase is in a state.
func awaitState(t *testing.T, s *startup, phase int, want string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		row := s.status().Phases[phase]
		if row.State == want {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%s is %s, not %s: %s", row.Phase, row.State, want, row.Detail)
		}
	}
}

func TestToldToStopInTheMiddleOfAPhaseIsNoError(t *testing.T) {
	for name, change := range map[string]func(*Operator, func(context.Context) error){
		"API server":  func(o *Operator, waits func(context.Context) error) { o.reachable = waits },
		"certificate": func(o *Operator, waits func(context.Context) error) { o.serve.phases[0].try = waits },
		"publishing":  func(o *Operator, waits func(context.Context) error) { o.serve.phases[2].try = waits },
		"manager":     func(o *Operator, waits func(context.Context) error) { o.reconcile.run = waits },
	} {
		t.Run(name, func(t *testing.T) {
			o, d := halves(t)
			change(o, func(ctx context.Context) error {
				d.write("waiting")
				<-ctx.Done()
				return fmt.Errorf("gave up: %w", ctx.Err())
			})
			o.serve.certificates, o.serve.server = nil, nil
			o.serve.phases[1].try = func(context.Context) error { return nil }
			ctx, cancel := context.WithCancel(t.Context())
			done := ran(ctx, o)
			d.await(t, "waiting")
			cancel()
			if err := result(t, done); err != nil {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAManagerThatDoesNotEndIsNamedAndTheWebhooksAreStillDrained(t *testing.T) {
	o, d := halves(t)
	o.workTimeout = time.Millisecond
	hung := make(chan struct{})
	t.Cleanup(func() { close(hung) })
	o.reconcile.run = func(context.Context) error {
		d.write("+hung")
		<-hung
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := ran(ctx, o)
	d.await(t, "+hung")
	cancel()
	if err := result(t, done); err == nil || !strings.Contains(err.Error(), "still running") || !strings.Contains(err.Error(), "manager") {
		t.Errorf("error %v", err)
	}
	if !slices.Contains(d.read(), "-webhook") {
		t.Errorf("webhooks were not drained: %q", d.read())
	}
}

// To lead some kinds is better than to lead none.
func TestTheElectionWaitsForAFirstAttemptAtEachCacheAndNoLongerThanItsPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testStartup(t)
		b := &controllerBuilder{assembly: &assembly{startup: s, config: options.Default()}}
		release, missing := make(chan struct{}), atomic.Bool{}
		missing.Store(true)
		began := time.Now()
		end := b.attempt(t.Context(), []attempt{
			{phaseCaches, "externalservice", func(context.Context) error { return nil }},
			{phaseCaches, "chaospod", func(context.Context) error {
				if missing.Load() {
					return errors.New("install its CRD")
				}
				return nil
			}},
			{phaseCaches, "rebootpolicy", func(context.Context) error { <-release; return nil }},
		})
		if waited := time.Since(began); waited != b.assembly.patience() {
			t.Errorf("it waited %s", waited)
		}
		for _, want := range []string{"chaospod: install its CRD", "rebootpolicy: not done within 1m0s"} {
			if err := s.err(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "externalservice") {
				t.Errorf("degraded: %v", err)
			}
		}
		close(release)
		missing.Store(false)
		<-time.After(time.Minute)
		synctest.Wait()
		if err := s.err(); err != nil {
			t.Errorf("degraded: %v", err)
		}
		end()
	})
}
