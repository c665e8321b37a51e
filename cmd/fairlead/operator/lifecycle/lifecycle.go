// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/internal/leaderelection"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// Phase is a phase of the start after the API server has responded.
type Phase struct {
	// Name of the phase.
	Name phases.Phase
	// Skip is why this replica has no such phase. Empty: it has.
	Skip string
	// Stage is when what the phase runs stops.
	Stage Stage
	// Start starts what the phase runs, in a group that ends it.
	Start func(in *Group)
	// Ready returns nil once the next phase may start. It is called after Start, until it returns nil. A phase that nothing waits
	// for has none, and records itself.
	Ready func(ctx context.Context) error
}

// Only returns a Start of one component.
func Only(name string, run Run) func(in *Group) {
	return func(in *Group) { in.Go(Component{name, run}) }
}

// Lifecycle runs the phases in their order, and stops what they run in the order of its stages.
type Lifecycle struct {
	// Servers are the first to start and the last to stop.
	Servers []Component
	// Reachable returns when the API server responds.
	Reachable func(ctx context.Context) error
	// Background needs the API server alone.
	Background []Component
	// Phases of the start after that.
	Phases []Phase
	// Attempts attempt the phases.
	Attempts Attempts
	// Logger gets a line when the stop begins and ends.
	Logger logr.Logger
	// StopTimeout bounds the whole stop, WorkTimeout the reconcilers' share of it.
	StopTimeout, WorkTimeout time.Duration
}

// Run starts everything, waits until ctx ends or a part fails, and stops everything. It returns
// nil only for a stop that was asked for and went well.
func (l *Lifecycle) Run(ctx context.Context) error {
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
		l.Logger.Error(failure, "ending at once")
		return failure
	}
	if failure != nil {
		l.Logger.Info("stopping: a part has failed", "reason", failure.Error())
	} else {
		l.Logger.Info("stopping: told to")
	}
	began := time.Now()
	if err := l.stop(ctx, stages); err != nil {
		if failure == nil {
			return err
		}
		l.Logger.Error(err, "the stop was not orderly")
	}
	l.Logger.Info("stopped", "seconds", time.Since(began).Seconds())
	return failure
}

// start goes through the phases. It ends with the API server that never responds: nothing can be served without one. A
// later phase whose first attempt fails is late: it is attempted until it succeeds, and the start goes on, since what
// one phase lacks must not take from the cluster what the others give, and a process that runs bears the same. A phase
// that is interrupted because ctx ended, or because a part that was started before has failed, returns with that reason.
func (l *Lifecycle) start(ctx context.Context, s *stages) error {
	s[ServerStage].Go(l.Servers...)
	err := l.Attempts.Recorder.Do(ctx, phases.APIServer, l.Reachable)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	s[BackgroundStage].Go(l.Background...)
	for _, p := range l.Phases {
		if p.Skip != "" {
			l.Attempts.Recorder.Skip(p.Name, p.Skip)
			continue
		}
		p.Start(s[p.Stage])
		if p.Ready != nil {
			l.awaitAttempt(ctx, s[ReconcilerStage], p) // no attempt outlives the reconcilers
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// awaitAttempt attempts a phase in a group until it is ready. It returns after the first attempt, or when ctx ends.
func (l *Lifecycle) awaitAttempt(ctx context.Context, in *Group, p Phase) {
	attempted := make(chan struct{})
	first := sync.OnceFunc(func() { close(attempted) })
	end := l.Attempts.Recorder.Begin(p.Name)
	in.Go(Component{string(p.Name), func(ctx context.Context) error {
		defer first()
		if !l.Attempts.persist(ctx, p.Name, "", p.Ready, first) {
			return nil
		}
		end(nil)
		first()
		return untilDone(ctx)
	}})
	select {
	case <-attempted:
	case <-ctx.Done():
	}
}

// stop ends the stages in their order, whether or not ctx has ended. What does not end in time is left behind, and named.
func (l *Lifecycle) stop(ctx context.Context, s *stages) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.StopTimeout)
	defer cancel()
	working, done := context.WithTimeout(ctx, l.WorkTimeout)
	defer done()

	var errs, failed []error
	for stage, group := range slices.Backward(s[:]) {
		limit := ctx
		if stage == int(ReconcilerStage) {
			limit = working
		}
		if late := group.Stop(limit); len(late) > 0 {
			errs = append(errs, fmt.Errorf("still running when the shutdown timeout ended: %v", late))
		}
	}
	for _, group := range slices.Backward(s[:]) {
		failed = append(failed, group.stopErrors()...)
	}
	return errors.Join(append(errs, failed...)...)
}

// MaxPause is the longest pause between two attempts of a phase.
const MaxPause = 15 * time.Second

// Attempts attempt parts of phases until they succeed.
type Attempts struct {
	// Recorder records what is late.
	Recorder *phases.Recorder
	// Pause is after the first failed attempt.
	Pause time.Duration
}

// persist attempts a part of a phase until it succeeds, and records that it is late meanwhile; attempted is called after
// each failure. It returns false where ctx has ended.
func (a Attempts) persist(ctx context.Context, phase phases.Phase, part string, try Run, attempted func()) bool {
	policy := retry.Policy{MinDelay: a.Pause, MaxDelay: MaxPause, AttemptTimeout: -1, Forever: true}
	policy.OnRetry = func(err error, _ time.Duration) {
		a.Recorder.SetLate(phase, part, err)
		attempted()
	}
	err := retry.Until(ctx, policy, func(ctx context.Context) error { return runContained(ctx, Component{part, try}) })
	a.Recorder.SetLate(phase, part, nil)
	return err == nil
}
