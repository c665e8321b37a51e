// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/internal/leaderelection"
)

// run runs until its context ends. To return before that is an error.
type run func(ctx context.Context) error

// component is a run with the name that errors and the log call it by.
type component struct {
	name string
	run  run
}

// parts are what a lifecycle runs.
type parts struct {
	servers []component // probes, metrics, profiles: first to start, last to stop

	reachable func(ctx context.Context) error // returns when the API server responds

	background    []component               // needs the API server alone; stopped with the caches
	waitForRanges func(ctx context.Context) // waits for the ranges of the cluster, for a while; may be nil

	prepare func(ctx context.Context) error // returns when there is a certificate
	refresh run                             // keeps it fresh

	webhook run                             // serves, and drains when its context ends
	ready   func(ctx context.Context) error // returns when it serves

	publish   func(ctx context.Context) error
	republish run // keeps the root published

	// warningCache fills what admission warns from, where no term does, and records the phase of the caches.
	// Nothing waits for it. Nil with term.
	warningCache run

	// term makes what reconciles, before the election and again after every demotion.
	term   func(ctx context.Context) (*term, error)
	warmup bool // warm its reconcilers before they are elected

	// elect waits to be elected, runs lead, and returns when lead has ended and the Lease is
	// released, or lost. Nil: no election.
	elect func(ctx context.Context, lead func(context.Context) error) error
	// observe follows the election until its result is called, while a term starts. Nil: no election.
	observe func(ctx context.Context) (stop func())
	// demote lets a replica that loses the Lease be a candidate again; otherwise it stops with an error.
	demote bool

	// skip is why this replica has no such phase. What only that phase would run may be nil.
	skip map[phases.Phase]string
}

// lifecycle runs parts in their order.
type lifecycle struct {
	parts
	recorder      *phases.Recorder
	logger        logr.Logger
	leadershipLog *leadershipLog // may be nil
	pause         time.Duration  // after the first failed attempt to start another term

	// stopTimeout bounds the whole stop, workTimeout the reconcilers' share of it.
	stopTimeout, workTimeout time.Duration
}

// Run starts everything, waits until ctx ends or a part fails, and stops everything. It returns
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
	if errors.Is(failure, leaderelection.ErrStillRunning) {
		// Nothing more is served: what still runs may do harm, and only the end of the process ends it.
		l.logger.Error(failure, "ending at once")
		return failure
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
// that was started before has failed, returns with that reason and not with its own.
func (l *lifecycle) start(ctx context.Context, s *stages) error {
	s.servers.Go(l.servers...)
	var started *termRuntime
	waitForRanges := sync.OnceFunc(func() {
		if l.waitForRanges != nil {
			l.waitForRanges(ctx)
		}
	})
	for _, step := range []struct {
		phase phases.Phase
		do    func(context.Context) error
	}{
		{phases.APIServer, func(ctx context.Context) error {
			if err := l.reachable(ctx); err != nil {
				return err
			}
			s.caches.Go(l.background...)
			return nil
		}},
		{phases.Certificates, func(ctx context.Context) error {
			if err := l.prepare(ctx); err != nil {
				return err
			}
			s.certificates.Go(component{"certificates", l.refresh})
			return nil
		}},
		{phases.WebhookServer, func(ctx context.Context) error {
			waitForRanges()
			s.webhook.Go(component{"webhook server", l.webhook})
			return l.ready(ctx)
		}},
		{phases.CAPublished, func(ctx context.Context) error {
			if err := l.publish(ctx); err != nil {
				return err
			}
			s.certificates.Go(component{"CA injection", l.republish})
			return nil
		}},
		{phases.Caches, func(ctx context.Context) error {
			var err error
			waitForRanges()
			started, err = l.startTerm(ctx, s)
			return err
		}},
	} {
		if reason, ok := l.skip[step.phase]; ok {
			l.recorder.Skip(step.phase, reason)
			continue
		}
		if step.phase == phases.Caches && l.warningCache != nil {
			s.caches.Go(component{"caches of admission", l.warningCache})
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
	if reason, ok := l.skip[phases.Reconcilers]; ok {
		l.recorder.Skip(phases.Election, reason)
		l.recorder.Skip(phases.Reconcilers, reason)
		return nil
	}
	s.work.Go(component{"reconcilers", func(ctx context.Context) error { return l.work(ctx, s, started) }})
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
	end(ctx, s.webhook)
	end(ctx, s.certificates)
	end(ctx, s.cacheGroup())
	end(ctx, s.caches)
	end(ctx, s.servers)
	return errors.Join(append(errs, s.stopErrors()...)...)
}
