// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/internal/leaderelection"
	"github.com/fairlead-dev/fairlead/internal/retry"
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
	if err := made.sync(ctx); err != nil {
		return t, err
	}
	if l.warmup {
		return t, l.warm(ctx, t)
	}
	return t, nil
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

// restartTerm is startTerm for a replica that serves webhooks meanwhile: it retries what would end a start.
// It returns nil where ctx has ended.
func (l *lifecycle) restartTerm(ctx context.Context, s *stages) *termRuntime {
	var t *termRuntime
	err := retry.Until(ctx, retry.Policy{MinDelay: l.pause, MaxDelay: maxPause, AttemptTimeout: -1, OnRetry: func(err error, delay time.Duration) {
		l.logger.Error(err, "cannot rejoin the election yet; retrying", "in", delay)
	}}, func(ctx context.Context) error {
		err := l.recorder.Do(ctx, phases.Caches, func(ctx context.Context) (err error) {
			t, err = l.startTerm(ctx, s)
			return err
		})
		if err != nil && ctx.Err() == nil {
			err = errors.Join(err, l.stopTerm(ctx, t))
		}
		return err
	})
	if err != nil {
		return nil
	}
	return t
}

// maxPause is the longest pause between two attempts to start a term.
const maxPause = 15 * time.Second

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
		return l.warm(ctx, t)
	})
	if t.reconciling.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	l.leadershipLog.write(leadershipEntry{Event: eventLead})
	defer l.leadershipLog.write(leadershipEntry{Event: eventUnlead})
	group := newGroup(t.reconciling, s.fail) //nolint:contextcheck // ends with leading, see above
	for _, r := range t.reconcilers {
		group.Go(component{r.name, r.start})
	}
	<-t.reconciling.Done()
	group.Wait()
	return nil
}

// warm starts the sources of all reconcilers, under the context in which they will live, and
// waits for them within ctx.
func (l *lifecycle) warm(ctx context.Context, t *termRuntime) error {
	results := make(chan error, len(t.reconcilers))
	for _, r := range t.reconcilers {
		go func() { results <- runContained(t.reconciling, component{r.name, r.warm}) }()
	}
	for range t.reconcilers {
		select {
		case err := <-results:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
