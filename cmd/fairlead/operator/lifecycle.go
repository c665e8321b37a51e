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
	"github.com/fairlead-dev/fairlead/internal/retry"
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

	prepare func(ctx context.Context) error // returns when there is a certificate; called until it succeeds
	refresh run                             // keeps it fresh

	webhook run                             // serves, and drains when its context ends
	ready   func(ctx context.Context) error // returns when it serves; called until it succeeds

	publish   func(ctx context.Context) error // returns when the root is published; called until it succeeds
	republish run                             // keeps the root published, and publishes it where the first attempt failed

	// warningCache fills what admission warns from, where no controllers do, and records the phase of the caches.
	// Nothing waits for it. Nil with controllers.
	warningCache run

	// controllers makes what reconciles, before the election; called until it succeeds.
	controllers func(ctx context.Context) (*controllers, error)
	warmup      bool // warm the reconcilers before this replica is elected

	// claim returns nil once this installation is the one that reconciles, and is called while it leads. Until then it
	// calls waiting with the reason. Nil: it is.
	claim func(ctx context.Context, waiting func(error)) error

	// elect waits to be elected, runs lead, and returns when lead has ended and the Lease is
	// released, or lost. Nil: no election.
	elect func(ctx context.Context, lead func(context.Context) error) error
	// observe follows the election until its result is called, while the caches are filled. Nil: no election.
	observe func(ctx context.Context) (stop func())

	// skip is why this replica has no such phase. What only that phase would run may be nil.
	skip map[phases.Phase]string
}

// lifecycle runs parts in their order.
type lifecycle struct {
	parts
	recorder      *phases.Recorder
	logger        logr.Logger
	leadershipLog *leadershipLog // may be nil
	pause         time.Duration  // after the first failed attempt of a phase
	patience      time.Duration  // with which the election waits for caches; 0 means without a bound

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

// start goes through the phases. It ends with the API server that never responds: nothing can be served without one. A
// later phase whose first attempt fails is late: it is attempted until it succeeds, and the start goes on, since what
// one phase lacks must not take from the cluster what the others give, and a process that runs bears the same. A phase
// that is interrupted because ctx ended, or because a part that was started before has failed, returns with that reason.
func (l *lifecycle) start(ctx context.Context, s *stages) error {
	s.servers.Go(l.servers...)
	err := l.recorder.Do(ctx, phases.APIServer, l.reachable)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	s.caches.Go(l.background...)
	waitForRanges := sync.OnceFunc(func() {
		if l.waitForRanges != nil {
			l.waitForRanges(ctx)
		}
	})
	for _, step := range []struct {
		phase phases.Phase
		do    func()
	}{
		{phases.Certificates, func() {
			l.attempt(ctx, s.certificates, "certificates", phases.Certificates, l.prepare, l.refresh)
		}},
		{phases.WebhookServer, func() {
			waitForRanges()
			s.webhook.Go(component{"webhook server", l.webhook})
			l.attempt(ctx, s.webhook, "self check", phases.WebhookServer, l.ready, untilDone)
		}},
		{phases.CAPublished, func() {
			l.attempt(ctx, s.certificates, "CA bundle", phases.CAPublished, l.publish, untilDone)
			s.certificates.Go(component{"CA injection", l.republish})
		}},
		{phases.Caches, func() {
			waitForRanges()
			l.startWork(ctx, s)
		}},
	} {
		if reason, ok := l.skip[step.phase]; ok {
			l.recorder.Skip(step.phase, reason)
			continue
		}
		step.do()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// attempt attempts a phase in a group until it succeeds, and then runs what follows from it. It returns after the first
// attempt, or when ctx ends.
func (l *lifecycle) attempt(ctx context.Context, in *group, name string, phase phases.Phase, try, follow run) {
	attempted := make(chan struct{})
	first := sync.OnceFunc(func() { close(attempted) })
	end := l.recorder.Begin(phase)
	in.Go(component{name, func(ctx context.Context) error {
		defer first()
		if !l.persist(ctx, phase, "", try, first) {
			return nil
		}
		end(nil)
		first()
		return follow(ctx)
	}})
	select {
	case <-attempted:
	case <-ctx.Done():
	}
}

// persist attempts a part of a phase until it succeeds, and records that it is late meanwhile; attempted is called after
// each failure. It returns false where ctx has ended.
func (l *lifecycle) persist(ctx context.Context, phase phases.Phase, part string, try run, attempted func()) bool {
	err := retry.Until(ctx, retry.Policy{MinDelay: l.pause, MaxDelay: maxPause, AttemptTimeout: -1, Forever: true,
		OnRetry: func(err error, _ time.Duration) {
			l.recorder.SetLate(phase, part, err)
			attempted()
		}}, func(ctx context.Context) error { return runContained(ctx, component{part, try}) })
	l.recorder.SetLate(phase, part, nil)
	return err == nil
}

// maxPause is the longest pause between two attempts of a phase.
const maxPause = 15 * time.Second

// untilDone is what follows from a phase that has nothing to run.
func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// startWork starts the caches, the election and the reconcilers, or the caches of admission alone.
func (l *lifecycle) startWork(ctx context.Context, s *stages) {
	reason, none := l.skip[phases.Reconcilers]
	if none {
		l.recorder.Skip(phases.Election, reason)
		l.recorder.Skip(phases.Reconcilers, reason)
	}
	if l.warningCache != nil {
		s.caches.Go(component{"caches of admission", l.warningCache})
	}
	if none {
		return
	}
	var started *controllers
	l.attempt(ctx, s.work, "reconcilers", phases.Caches, func(ctx context.Context) (err error) {
		started, err = l.startControllers(ctx, s)
		return err
	}, func(ctx context.Context) error { return l.work(ctx, s, started) })
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
	end(ctx, s.informers)
	end(ctx, s.caches)
	end(ctx, s.servers)
	return errors.Join(append(errs, s.stopErrors()...)...)
}
