// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
)

// reconciler is a controller. Warm starts its sources and returns when they have synced; Start
// reconciles until ctx ends and returns when the last object is done.
type reconciler struct {
	name  string
	warm  run
	start run
}

// controllers are those of this replica, with the caches that they read.
type controllers struct {
	caches      []component                     // run the informers
	sync        func(ctx context.Context) error // returns when those that admission reads have synced
	reconcilers []reconciler

	warmups map[string]*warmup // of reconcilers, by their names; nil until they are warmed
}

// warmup is a part of the controllers that is attempted until it succeeds, whatever becomes of the other parts: a kind whose CRD
// is missing, or that may not be listed, takes nothing from the other kinds.
type warmup struct {
	name            string
	attempted, done chan struct{} // closed after the first attempt, and after the one that succeeded
}

// startControllers creates the controllers, starts their caches and warms their reconcilers.
func (l *lifecycle) startControllers(ctx context.Context, s *stages) (*controllers, error) {
	if l.observe != nil {
		defer l.observe(ctx)()
	}
	c, err := l.controllers(ctx)
	if err != nil {
		return nil, err
	}
	s.informers.Go(c.caches...)
	admission := l.startWarmup(s, phases.Caches, "warnings of admission", c.sync)
	if err := l.awaitAttempts(ctx, phases.Caches, admission); err != nil || !l.warmup {
		return c, err
	}
	return c, l.warm(ctx, s, c, phases.Caches)
}

// work waits for the election and reconciles.
func (l *lifecycle) work(ctx context.Context, s *stages, c *controllers) error {
	if l.elect == nil {
		l.recorder.Skip(phases.Election, "leader election is off")
		return l.reconcile(ctx, s, c)
	}
	elected := l.recorder.Begin(phases.Election)
	return l.elect(ctx, func(leading context.Context) error {
		elected(nil)
		return l.reconcile(leading, s, c)
	})
}

// reconcile runs the reconcilers until leading ends, and returns when the last has ended.
func (l *lifecycle) reconcile(leading context.Context, s *stages, c *controllers) error {
	// Sources that were warmed run under a context of their own: they and the queue that they
	// fill must end with the leadership, or the workers would wait for the queue forever.
	ctx := s.reconciling
	defer context.AfterFunc(leading, s.endReconciling)()
	err := l.recorder.Do(ctx, phases.Reconcilers, func(ctx context.Context) error { //nolint:contextcheck // ends with leading, see above
		if l.warmup {
			return nil // it was done with the caches
		}
		return l.warm(ctx, s, c, phases.Reconcilers)
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	if l.claim != nil {
		err := l.claim(ctx, func(err error) { l.recorder.SetLate(phases.Reconcilers, "", err) }) //nolint:contextcheck // see above
		if err != nil || ctx.Err() != nil {
			return err
		}
		l.recorder.SetLate(phases.Reconcilers, "", nil)
	}
	l.leadershipLog.write(leadershipEntry{Event: eventLead})
	defer l.leadershipLog.write(leadershipEntry{Event: eventUnlead})
	group := newGroup(ctx, s.fail) //nolint:contextcheck // ends with leading, see above
	for _, r := range c.reconcilers {
		group.Go(component{r.name, func(ctx context.Context) error {
			select {
			case <-c.warmups[r.name].done:
				return r.start(ctx)
			case <-ctx.Done():
				return nil
			}
		}})
	}
	<-ctx.Done()
	group.Wait()
	return nil
}

// warm starts the sources of all reconcilers and waits within ctx until each was attempted. After the patience it goes on:
// to lead some kinds is better than to lead none.
func (l *lifecycle) warm(ctx context.Context, s *stages, c *controllers, phase phases.Phase) error {
	c.warmups = map[string]*warmup{}
	for _, r := range c.reconcilers {
		c.warmups[r.name] = l.startWarmup(s, phase, r.name, r.warm)
	}
	return l.awaitAttempts(ctx, phase, slices.Collect(maps.Values(c.warmups))...)
}

// startWarmup attempts a part of the controllers under the context in which it will live.
func (l *lifecycle) startWarmup(s *stages, phase phases.Phase, name string, try run) *warmup {
	w := &warmup{name: name, attempted: make(chan struct{}), done: make(chan struct{})}
	first := sync.OnceFunc(func() { close(w.attempted) })
	s.informers.Go(component{name, func(ctx context.Context) error {
		defer first()
		l.persist(s.reconciling, phase, name, func(ctx context.Context) error { //nolint:contextcheck // the sources end with the leadership
			err := try(ctx)
			if err == nil {
				close(w.done)
			}
			return err
		}, first)
		first()
		return untilDone(ctx)
	}})
	return w
}

// awaitAttempts waits until each was attempted, at most for the patience, and records those that are late then.
func (l *lifecycle) awaitAttempts(ctx context.Context, phase phases.Phase, all ...*warmup) error {
	var late <-chan time.Time
	if l.patience > 0 {
		timer := time.NewTimer(l.patience)
		defer timer.Stop()
		late = timer.C
	}
	for _, w := range all {
		select {
		case <-w.attempted:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			closed := make(chan time.Time)
			close(closed)
			late = closed // for those that follow
			l.recorder.SetLate(phase, w.name, fmt.Errorf("not done within %s", l.patience))
			select {
			case <-w.done: // meanwhile
				l.recorder.SetLate(phase, w.name, nil)
			default:
			}
		}
	}
	return nil
}
