// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"

	"github.com/fairlead-dev/fairlead/internal/startup"
)

// run is something that runs until its context ends. To end before that is an error.
type run func(ctx context.Context) error

// named is a run with the name that errors and the log call it by.
type named struct {
	name string
	run  run
}

// reconciler is a controller. Warm starts its sources and returns when they have synced; Start
// reconciles until ctx ends and returns when the last object is done.
type reconciler struct {
	name  string
	warm  run
	start run
}

// parts are what a lifecycle runs. Those that may be nil say so.
type parts struct {
	servers []named // probes, metrics, profiles: first to start, last to stop

	reachable func(ctx context.Context) error // returns when the API server answers

	follow []named                   // what admission knows of the cluster; stopped with the caches
	settle func(ctx context.Context) // waits for that, for a while; nil with follow

	prepare func(ctx context.Context) error // returns when there is a certificate
	refresh run                             // keeps it fresh

	webhook run                             // serves, and drains when its context ends
	ready   func(ctx context.Context) error // returns when it answers

	publish     func(ctx context.Context) error // nil: nobody to publish to
	unpublished string                          // why publish is nil
	republish   run                             // keeps the root published; nil with publish

	cache run                             // runs the informers
	sync  func(ctx context.Context) error // returns when those that admission reads have synced

	runnables []named // need no election

	// elect waits to be elected, runs lead, and returns when lead has ended and the Lease is
	// released, or lost. Nil: no election.
	elect func(ctx context.Context, lead func(context.Context) error) error

	reconcilers func(ctx context.Context) ([]reconciler, error) // made before the cache starts
	warmup      bool                                            // warm them before they are elected
}

// lifecycle runs parts in their order.
type lifecycle struct {
	parts
	recorder *startup.Recorder
	logger   logr.Logger
	made     []reconciler

	// stopTimeout bounds the whole stop, workTimeout the reconcilers' share of it.
	stopTimeout, workTimeout time.Duration
}

// Run starts everything, waits until ctx ends or a part fails, and stops everything. It answers
// nil only for a stop that was asked for and went well.
func (l *lifecycle) Run(ctx context.Context) error {
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	stages := newStages(ctx, fail)

	if err := l.start(running, stages); err != nil {
		fail(err)
	}
	<-running.Done()
	// The cause is the first failure, and no failure at all where ctx itself has ended.
	var failure error
	if cause := context.Cause(running); ctx.Err() == nil || !errors.Is(cause, context.Cause(ctx)) {
		failure = cause
	}
	if failure != nil {
		l.logger.Info("stopping: a part has failed", "reason", failure.Error())
	} else {
		l.logger.Info("stopping: told to")
	}
	began := time.Now()
	if err := l.stop(ctx, stages); err != nil {
		if failure == nil {
			return err
		}
		l.logger.Error(err, "the stop was not orderly")
	}
	l.logger.Info("stopped", "seconds", time.Since(began).Seconds())
	return failure
}

// start goes through the phases. A phase that is interrupted because ctx ended, or because a part
// that was started before has failed, answers with that reason and not with its own.
func (l *lifecycle) start(ctx context.Context, s *stages) error {
	s.servers.Go(l.servers...)
	for _, step := range []struct {
		phase startup.Phase
		do    func(context.Context) error
	}{
		{startup.APIServer, l.reachable},
		{startup.Certificates, func(ctx context.Context) error {
			s.caches.Go(l.follow...)
			if err := l.prepare(ctx); err != nil {
				return err
			}
			s.certificates.Go(named{"certificates", l.refresh})
			return nil
		}},
		{startup.WebhookServer, func(ctx context.Context) error {
			if l.settle != nil {
				l.settle(ctx)
			}
			s.webhook.Go(named{"webhook server", l.webhook})
			return l.ready(ctx)
		}},
		{startup.CAPublished, func(ctx context.Context) error {
			if err := l.publish(ctx); err != nil {
				return err
			}
			s.certificates.Go(named{"CA injection", l.republish})
			return nil
		}},
		{startup.Caches, func(ctx context.Context) error {
			made, err := l.reconcilers(ctx)
			if err != nil {
				return err
			}
			l.made = made
			s.caches.Go(named{"caches", l.cache})
			if err := l.sync(ctx); err != nil {
				return err
			}
			if l.warmup {
				return l.warm(ctx, s.reconciling)
			}
			return nil
		}},
		{startup.Runnables, func(context.Context) error {
			s.runnables.Go(l.runnables...)
			return nil
		}},
	} {
		if step.phase == startup.CAPublished && l.publish == nil {
			l.recorder.Skip(step.phase, l.unpublished)
			continue
		}
		err := l.recorder.Do(ctx, step.phase, step.do)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
	s.work.Go(named{"reconcilers", func(ctx context.Context) error { return l.work(ctx, s) }})
	return nil
}

// work waits for the election and reconciles.
func (l *lifecycle) work(ctx context.Context, s *stages) error {
	if l.elect == nil {
		l.recorder.Skip(startup.Election, "leader election is off")
		return l.reconcile(ctx, s)
	}
	elected := l.recorder.Begin(startup.Election)
	return l.elect(ctx, func(leading context.Context) error {
		elected(nil)
		return l.reconcile(leading, s)
	})
}

// reconcile runs the reconcilers until leading ends, and returns when the last has ended.
func (l *lifecycle) reconcile(leading context.Context, s *stages) error {
	// Sources that were warmed run under a context of their own: they and the queue that they
	// fill must end with the leadership, or the workers would wait for the queue forever.
	stop := context.AfterFunc(leading, s.endReconciling)
	defer stop()
	err := l.recorder.Do(s.reconciling, startup.Reconcilers, func(ctx context.Context) error { //nolint:contextcheck // ends with leading, see above
		if l.warmup {
			return nil // as it was, with the caches
		}
		return l.warm(ctx, ctx)
	})
	if s.reconciling.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	group := newGroup(s.reconciling, s.fail) //nolint:contextcheck // ends with leading, see above
	for _, r := range l.made {
		group.Go(named{r.name, r.start})
	}
	<-s.reconciling.Done()
	group.Wait()
	return nil
}

// warm starts the sources of all reconcilers, under the context in which they will live, and
// waits for them within ctx.
func (l *lifecycle) warm(ctx, life context.Context) error {
	results := make(chan error, len(l.made))
	for _, r := range l.made {
		go func() { results <- contain(life, named{r.name, r.warm}) }()
	}
	for range l.made {
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

// stop ends the stages in their order, whether or not ctx has ended. What does not end in time is left behind, and named.
func (l *lifecycle) stop(ctx context.Context, s *stages) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.stopTimeout)
	defer cancel()
	working, done := context.WithTimeout(ctx, l.workTimeout)
	defer done()

	var errs []error
	end := func(ctx context.Context, g *group) {
		if late := g.Stop(ctx); len(late) > 0 {
			errs = append(errs, fmt.Errorf("still running when the shutdown timeout ended: %v", late))
		}
	}
	s.endReconciling()
	end(working, s.work)
	end(working, s.runnables)
	end(ctx, s.webhook)
	end(ctx, s.certificates)
	end(ctx, s.caches)
	end(ctx, s.servers)
	return errors.Join(append(errs, s.stopErrors()...)...)
}
