// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/internal/leaderelection"
)

// reconciler is a controller. Warm starts its sources and returns when they have synced; Start
// reconciles until ctx ends and returns when the last object is done.
type reconciler struct {
	name  string
	warm  run
	start run
}

// term is the cache and the controllers of one leadership: neither can start twice.
type term struct {
	caches      []component                     // run the informers
	sync        func(ctx context.Context) error // returns when those that admission reads have synced
	reconcilers []reconciler
	end         func() // forgets it, when all of it has ended; may be nil
}

// termRuntime is a term with its contexts: the sources and workers of its reconcilers end first,
// and its caches after them.
type termRuntime struct {
	*term
	reconciling    context.Context
	endReconciling context.CancelFunc
	informers      *group
	warmups        map[string]*warmup // of reconcilers, by their names; nil until they are warmed
}

// warmup is a part of a term that is attempted until it succeeds, whatever becomes of the other parts: a kind whose CRD
// is missing, or that may not be listed, takes nothing from the other kinds.
type warmup struct {
	name            string
	attempted, done chan struct{} // closed after the first attempt, and after the one that succeeded
}

// startTerm creates a term, starts its cache and warms its reconcilers. Its result must be given to stopTerm,
// also after an error.
func (l *lifecycle) startTerm(ctx context.Context, s *stages) (*termRuntime, error) {
	if l.observe != nil {
		defer l.observe(ctx)()
	}
	made, err := l.term(ctx)
	if err != nil {
		return nil, err
	}
	t := &termRuntime{term: made, informers: s.newCacheGroup()}
	t.reconciling, t.endReconciling = context.WithCancel(s.reconciling)
	t.informers.Go(made.caches...)
	admission := l.startWarmup(t, phases.Caches, "warnings of admission", made.sync)
	if err := l.awaitAttempts(ctx, phases.Caches, admission); err != nil || !l.warmup {
		return t, err
	}
	return t, l.warm(ctx, t, phases.Caches)
}

// tryTerm is startTerm, which stops the term after an error, so that it can be attempted again.
func (l *lifecycle) tryTerm(ctx context.Context, s *stages) (*termRuntime, error) {
	t, err := l.startTerm(ctx, s)
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, l.stopTerm(ctx, t))
	}
	return t, err
}

// stopTerm stops a term and waits for it, within ctx.
func (l *lifecycle) stopTerm(ctx context.Context, t *termRuntime) error {
	if t == nil {
		return nil
	}
	t.endReconciling()
	if late := t.informers.Stop(ctx); len(late) > 0 {
		return fmt.Errorf("still running: %v", late)
	}
	if t.end != nil {
		t.end()
	}
	return nil
}

// work waits for the election and reconciles. A replica that is demoted becomes a candidate again.
func (l *lifecycle) work(ctx context.Context, s *stages, t *termRuntime) error {
	if l.elect == nil {
		l.recorder.Skip(phases.Election, "leader election is off")
		return l.reconcile(ctx, s, t)
	}
	for {
		elected := l.recorder.Begin(phases.Election)
		err := l.elect(ctx, func(leading context.Context) error {
			elected(nil)
			err := l.reconcile(leading, s, t)
			if l.demote && errors.Is(context.Cause(leading), leaderelection.ErrLost) {
				// Within the time that the election allows, or the process ends.
				return errors.Join(err, l.stopTerm(context.WithoutCancel(leading), t))
			}
			return err
		})
		if !l.demote || ctx.Err() != nil || !errors.Is(err, leaderelection.ErrLost) || errors.Is(err, leaderelection.ErrStillRunning) {
			return err
		}
		l.logger.Info("demoted: the Lease is lost and the reconcilers have stopped; webhooks go on, and this replica rejoins the election")
		l.recorder.Skip(phases.Reconcilers, "the Lease was lost; a candidate again")
		if t = l.restartTerm(ctx, s); t == nil {
			return nil
		}
	}
}

// restartTerm starts another term. It returns nil where ctx has ended.
func (l *lifecycle) restartTerm(ctx context.Context, s *stages) (t *termRuntime) {
	end := l.recorder.Begin(phases.Caches)
	if !l.persist(ctx, phases.Caches, "", func(ctx context.Context) (err error) {
		t, err = l.tryTerm(ctx, s)
		return err
	}, func() {}) {
		return nil
	}
	end(nil)
	return t
}

// reconcile runs the reconcilers until leading ends, and returns when the last has ended.
func (l *lifecycle) reconcile(leading context.Context, s *stages, t *termRuntime) error {
	// Sources that were warmed run under a context of their own: they and the queue that they
	// fill must end with the leadership, or the workers would wait for the queue forever.
	stop := context.AfterFunc(leading, t.endReconciling)
	defer stop()
	err := l.recorder.Do(t.reconciling, phases.Reconcilers, func(ctx context.Context) error { //nolint:contextcheck // ends with leading, see above
		if l.warmup {
			return nil // it was done with the caches
		}
		return l.warm(ctx, t, phases.Reconcilers)
	})
	if t.reconciling.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	if l.claim != nil {
		err := l.claim(t.reconciling, func(err error) { l.recorder.SetLate(phases.Reconcilers, "", err) }) //nolint:contextcheck // ends with leading, see above
		if err != nil || t.reconciling.Err() != nil {
			return err
		}
		l.recorder.SetLate(phases.Reconcilers, "", nil)
	}
	l.leadershipLog.write(leadershipEntry{Event: eventLead})
	defer l.leadershipLog.write(leadershipEntry{Event: eventUnlead})
	group := newGroup(t.reconciling, s.fail) //nolint:contextcheck // ends with leading, see above
	for _, r := range t.reconcilers {
		group.Go(component{r.name, func(ctx context.Context) error {
			select {
			case <-t.warmups[r.name].done:
				return r.start(ctx)
			case <-ctx.Done():
				return nil
			}
		}})
	}
	<-t.reconciling.Done()
	group.Wait()
	return nil
}

// warm starts the sources of all reconcilers and waits within ctx until each was attempted. After the patience it goes on:
// to lead some kinds is better than to lead none.
func (l *lifecycle) warm(ctx context.Context, t *termRuntime, phase phases.Phase) error {
	t.warmups = map[string]*warmup{}
	for _, r := range t.reconcilers {
		t.warmups[r.name] = l.startWarmup(t, phase, r.name, r.warm)
	}
	return l.awaitAttempts(ctx, phase, slices.Collect(maps.Values(t.warmups))...)
}

// startWarmup attempts a part of a term under the context in which it will live.
func (l *lifecycle) startWarmup(t *termRuntime, phase phases.Phase, name string, try run) *warmup {
	w := &warmup{name: name, attempted: make(chan struct{}), done: make(chan struct{})}
	first := sync.OnceFunc(func() { close(w.attempted) })
	t.informers.Go(component{name, func(ctx context.Context) error {
		defer first()
		l.persist(t.reconciling, phase, name, func(ctx context.Context) error { //nolint:contextcheck // the sources end with the leadership
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
