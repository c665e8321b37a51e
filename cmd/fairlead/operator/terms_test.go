// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/internal/leaderelection"
)

// losing is an election that is won at once, and lost whenever a value is sent. What the work returns is
// passed on.
func losing(d *callLog, lose <-chan struct{}, answers chan<- error) func(context.Context, func(context.Context) error) error {
	return func(ctx context.Context, lead func(context.Context) error) error {
		leading, stop := context.WithCancelCause(context.WithoutCancel(ctx))
		lost := make(chan struct{})
		go func() {
			select {
			case <-lose:
				close(lost)
				stop(fmt.Errorf("%w: not renewed", leaderelection.ErrLost))
			case <-ctx.Done():
				stop(context.Canceled)
			}
		}()
		d.write("elected")
		err := lead(leading)
		select {
		case <-lost:
			d.write("lost")
			answers <- err
			return leaderelection.ErrLost
		default:
			d.write("released")
			return err
		}
	}
}

func TestADemotedReplicaEndsItsTermGoesOnServingAndStandsAgain(t *testing.T) {
	for name, warm := range map[string]bool{"warm": true, "cold": false} {
		t.Run(name, func(t *testing.T) {
			l, d := fakes(t)
			lose, answers := make(chan struct{}), make(chan error, 1)
			l.demote, l.warmup = true, warm
			l.caches, l.sync = []component{{"cache", d.runs("cache")}}, d.does("synced")
			l.elect = losing(d, lose, answers)
			made := 0
			l.lifecycle.term = func(context.Context) (*term, error) { made++; return l.term, nil }
			ctx, cancel := context.WithCancel(context.Background())
			done := ran(ctx, l)
			const rounds = 50
			for round := range rounds {
				d.awaits(t, "+reconcile", round+1)
				if state := l.recorder.Status().Phases[6].State; state != phases.Done {
					t.Errorf("round %d: reconcilers are %s", round, state)
				}
				before := len(d.read())
				lose <- struct{}{}
				if err := <-answers; err != nil {
					t.Fatal(err)
				}
				got := slices.DeleteFunc(d.read()[before:], func(entry string) bool { return entry[0] == '+' })
				if diff := cmp.Diff([]string{"-reconcile", "-cache", "forgotten", "lost"}, got[:4]); diff != "" {
					t.Fatalf("round %d, -want +got:\n%s", round, diff)
				}
				if slices.Contains(got, "-webhook") {
					t.Fatal("webhooks have ended")
				}
			}
			d.awaits(t, "+reconcile", rounds+1)
			cancel()
			if err := result(t, done); err != nil {
				t.Error(err)
			}
			if made != rounds+1 {
				t.Errorf("%d terms were made", made)
			}
			for _, part := range []string{"reconcile", "cache"} {
				if begun, ended := d.count("+"+part), d.count("-"+part); begun != rounds+1 || ended != begun {
					t.Errorf("%s began %d times and ended %d times", part, begun, ended)
				}
			}
			if d.count("-webhook") != 1 || d.count("+webhook") != 1 {
				t.Errorf("webhooks: %q", d.read())
			}
		})
	}
}

// awaits returns when the entry is there so many times.
func (d *callLog) awaits(t *testing.T, entry string, times int) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		d.mu.Lock()
		written := d.written
		d.mu.Unlock()
		if d.count(entry) >= times {
			return
		}
		select {
		case <-written:
		case <-limit:
			t.Fatalf("%q is there %d times, not %d", entry, d.count(entry), times)
		}
	}
}

func (d *callLog) count(entry string) (n int) {
	for _, e := range d.read() {
		if e == entry {
			n++
		}
	}
	return n
}

func TestANextTermThatCannotBeMadeIsTriedAgainWhileWebhooksGoOn(t *testing.T) {
	l, d := fakes(t)
	lose, answers := make(chan struct{}), make(chan error, 1)
	l.demote, l.pause = true, time.Millisecond
	l.elect = losing(d, lose, answers)
	l.caches = []component{{"cache", d.runs("cache")}}
	l.sync = func(context.Context) error { return nil }
	makes := 0
	l.lifecycle.term = func(context.Context) (*term, error) {
		if makes++; makes > 1 && makes < 5 {
			return nil, errors.New("no route to host")
		}
		return l.term, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := ran(ctx, l)
	d.awaits(t, "+reconcile", 1)
	lose <- struct{}{}
	d.awaits(t, "+reconcile", 2)
	if d.count("-webhook") != 0 || d.count("+cache") != 2 || d.count("-cache") != 1 {
		t.Errorf("%q", d.read())
	}
	cancel()
	if err := result(t, done); err != nil {
		t.Error(err)
	}
}

func TestToldToStopWhileItStandsAgainItStopsInOrder(t *testing.T) {
	l, d := fakes(t)
	lose, answers := make(chan struct{}), make(chan error, 1)
	l.demote = true
	l.elect = losing(d, lose, answers)
	makes := 0
	l.lifecycle.term = func(ctx context.Context) (*term, error) {
		if makes++; makes > 1 {
			d.write("waiting")
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return l.term, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := ran(ctx, l)
	d.await(t, "+reconcile")
	lose <- struct{}{}
	d.await(t, "waiting")
	cancel()
	if err := result(t, done); err != nil {
		t.Error(err)
	}
	if d.count("-webhook") != 1 {
		t.Errorf("%q", d.read())
	}
}

func TestWorkThatOutlivesTheLeaseEndsTheProcessWithoutAnyDrain(t *testing.T) {
	for name, demote := range map[string]bool{"exit": false, "demote": true} {
		t.Run(name, func(t *testing.T) {
			l, d := fakes(t)
			l.demote = demote
			over := make(chan struct{})
			t.Cleanup(func() { close(over) })
			l.reconcilers = one(d.does("warmed"), func(context.Context) error {
				d.write("+stuck")
				<-over
				return nil
			})
			l.elect = func(ctx context.Context, lead func(context.Context) error) error {
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
			if d.count("-webhook") != 0 {
				t.Error("it drained while what must end went on")
			}
		})
	}
}

func TestTheMetricsOfATermGoWithIt(t *testing.T) {
	shown, parent := &swappableRegistry{}, prometheus.NewRegistry()
	if err := parent.Register(shown); err != nil {
		t.Fatal(err)
	}
	value := func() float64 {
		t.Helper()
		families, err := parent.Gather()
		if err != nil {
			t.Fatal(err)
		}
		if len(families) == 0 {
			return -1
		}
		return families[0].GetMetric()[0].GetGauge().GetValue()
	}
	for term := range 3 {
		registry := prometheus.NewRegistry()
		gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_test", Help: "A metric of a term."})
		if err := registry.Register(gauge); err != nil {
			t.Fatal(err)
		}
		gauge.Set(float64(term))
		shown.set(registry)
		if got := value(); got != float64(term) {
			t.Errorf("term %d: %v", term, got)
		}
		shown.set(nil)
		if got := value(); got != -1 {
			t.Errorf("after term %d: %v", term, got)
		}
	}
}
