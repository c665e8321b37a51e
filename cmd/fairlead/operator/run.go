// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/fairlead-dev/fairlead/internal/retry"
)

// Operator is the assembled operator. docs/architecture.md has the order of its start and of its stop.
type Operator struct {
	// servers are the servers of probes, metrics and profiles. They start first and stop last.
	servers []component
	// reachable waits until the API server responds.
	reachable func(ctx context.Context) error
	// background are the components that need only the API server.
	background []component
	// serve is the half that serves webhooks, if webhook.enabled is true.
	serve serving
	// reconcile is the half with the Manager. Without controllers it is the cache for the warnings of admission.
	reconcile component

	startup                  *startup
	pause                    time.Duration // the wait after the first failed attempt of a phase
	stopTimeout, workTimeout time.Duration // the limits of the whole stop, and of the stop of reconcile
	logger                   logr.Logger
}

// serving is the half that serves webhooks.
type serving struct {
	// certificates renew the certificate and publish its CA bundle. They stop after the server.
	certificates []component
	// server serves until its context ends, and then drains.
	server []component
	// phases are the phases of the start. The first attempt of each precedes the first attempt of the next.
	phases []attempt
}

// attempt is a phase of the start, or a part of one. It is repeated until it succeeds.
type attempt struct {
	phase, part string
	try         func(ctx context.Context) error
}

// Run serves webhooks and reconciles until ctx ends or a part fails, and then drains. It returns nil only if ctx has
// ended and the stop went well.
func (o *Operator) Run(ctx context.Context) error {
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	last, certificates, server := newGroup(ctx, fail), newGroup(ctx, fail), newGroup(ctx, fail)
	attempts, second := newGroup(ctx, fail), newGroup(ctx, fail)

	last.start(o.servers...)
	if err := o.awaitAPIServer(running); err != nil {
		fail(err)
	} else {
		last.start(o.background...)
		certificates.start(o.serve.certificates...)
		server.start(o.serve.server...)
		for _, phase := range o.serve.phases {
			if running.Err() == nil {
				o.attemptOnce(running, attempts, phase)
			}
		}
	}
	if running.Err() == nil {
		second.start(o.reconcile)
	}
	<-running.Done()

	var failure error
	if cause := context.Cause(running); ctx.Err() == nil || !errors.Is(cause, context.Cause(ctx)) {
		failure = cause
		o.logger.Info("stopping: a part has failed", "reason", failure.Error())
	} else {
		o.logger.Info("stopping: told to")
	}
	began := time.Now()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.stopTimeout)
	defer cancel()
	working, done := context.WithTimeout(stopping, o.workTimeout+releaseTimeout)
	defer done()
	attempts.cancel()
	errs := []error{second.stop(working), attempts.stop(working), server.stop(stopping), certificates.stop(stopping)}
	ending, end := context.WithTimeout(stopping, lastTimeout)
	defer end()
	_ = last.stop(ending) // ends clients that still read metrics or a profile
	if err := errors.Join(errs...); err != nil {
		if failure == nil {
			return err
		}
		o.logger.Error(err, "the stop was not orderly")
	}
	o.logger.Info("stopped", "seconds", time.Since(began).Seconds())
	return failure
}

const (
	// releaseTimeout is how long the release of the Lease may take after the reconcilers.
	releaseTimeout = 2 * time.Second
	// lastTimeout bounds the stop of the last components.
	lastTimeout = 3 * time.Second
)

func (o *Operator) awaitAPIServer(ctx context.Context) error {
	done := o.startup.begin(phaseAPIServer)
	err := o.reachable(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		done()
	}
	return err
}

// attemptOnce attempts a phase of the start in a group until it succeeds. It returns after the first attempt, or when
// ctx ends. A phase that fails must not keep the cluster from what the other phases provide.
func (o *Operator) attemptOnce(ctx context.Context, in *group, phase attempt) {
	attempted := make(chan struct{})
	first := sync.OnceFunc(func() { close(attempted) })
	done := o.startup.begin(phase.phase)
	in.start(component{phase.phase, func(ctx context.Context) error {
		defer first()
		if o.startup.persist(ctx, phase, o.pause, first) {
			done()
			first()
		}
		return untilDone(ctx)
	}})
	select {
	case <-attempted:
	case <-ctx.Done():
	}
}

// maxPause is the longest pause between two attempts.
const maxPause = 15 * time.Second

// persist repeats an attempt until it succeeds, and records the part as late meanwhile. It calls attempted after each
// failure. It returns false if ctx has ended.
func (s *startup) persist(ctx context.Context, a attempt, pause time.Duration, attempted func()) bool {
	policy := retry.Policy{MinDelay: pause, MaxDelay: maxPause, AttemptTimeout: -1, Forever: true}
	policy.OnRetry = func(err error, _ time.Duration) {
		s.setLate(a.phase, a.part, err)
		attempted()
	}
	err := retry.Until(ctx, policy, func(ctx context.Context) error { return contained(a.part, a.try)(ctx) })
	s.setLate(a.phase, a.part, nil)
	return err == nil
}
