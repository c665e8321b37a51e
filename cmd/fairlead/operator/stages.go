// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// stages are the groups that stop one after another, the last named here first.
type stages struct {
	servers, caches, certificates, webhook, runnables, work *group

	// reconciling is the context of the sources and workers of all terms.
	reconciling    context.Context
	endReconciling context.CancelFunc
	fail           context.CancelCauseFunc

	mu        sync.Mutex
	informers *group // of the term that there is
}

// newStages makes the groups. They outlive ctx, each until it is stopped; fail is told of the
// first part that fails in any.
func newStages(ctx context.Context, fail context.CancelCauseFunc) *stages {
	base := context.WithoutCancel(ctx)
	s := &stages{fail: fail, informers: newGroup(base, fail)}
	s.reconciling, s.endReconciling = context.WithCancel(base)
	for _, g := range []**group{&s.servers, &s.caches, &s.certificates, &s.webhook, &s.runnables, &s.work} {
		*g = newGroup(base, fail)
	}
	return s
}

// lend returns a group for the informers of a term. They outlive its reconcilers, since admission
// reads them until its server has drained.
func (s *stages) lend() *group {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.informers = newGroup(s.caches.ctx, s.fail)
	return s.informers
}

// lent is the group of the last term.
func (s *stages) lent() *group {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.informers
}

// stopErrors are the errors of parts that failed while they stopped.
func (s *stages) stopErrors() []error {
	var errs []error
	for _, g := range []*group{s.work, s.runnables, s.webhook, s.certificates, s.lent(), s.caches, s.servers} {
		errs = append(errs, g.late()...)
	}
	return errs
}

// group runs parts under one context and tells of the first that fails.
type group struct {
	ctx    context.Context
	cancel context.CancelFunc
	fail   context.CancelCauseFunc
	wait   sync.WaitGroup

	mu      sync.Mutex
	running []string
	errs    []error // of parts that failed after the group was told to stop
}

func newGroup(ctx context.Context, fail context.CancelCauseFunc) *group {
	g := &group{fail: fail}
	g.ctx, g.cancel = context.WithCancel(ctx)
	return g
}

// Go starts parts. One that returns before the group is stopped has failed, whatever it returns.
func (g *group) Go(parts ...named) {
	for _, part := range parts {
		g.mu.Lock()
		g.running = append(g.running, part.name)
		g.mu.Unlock()
		g.wait.Go(func() {
			err := contain(g.ctx, part)
			g.mu.Lock()
			defer g.mu.Unlock()
			if i := slices.Index(g.running, part.name); i >= 0 {
				g.running = slices.Delete(g.running, i, i+1)
			}
			switch {
			case g.ctx.Err() == nil && err == nil:
				g.fail(fmt.Errorf("%s: ended unexpectedly", part.name))
			case g.ctx.Err() == nil:
				g.fail(err)
			case err != nil && !errors.Is(err, context.Canceled):
				g.errs = append(g.errs, err)
			}
		})
	}
}

// Wait returns when every part has ended.
func (g *group) Wait() { g.wait.Wait() }

// Stop cancels the group and waits for it within ctx. It returns the parts that still run.
func (g *group) Stop(ctx context.Context) []string {
	g.cancel()
	ended := make(chan struct{})
	go func() {
		g.wait.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		return slices.Clone(g.running)
	}
}

func (g *group) late() []error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.errs)
}

// contain runs a part and returns a panic as an error: the other parts stop in their order then,
// and the Lease is released.
func contain(ctx context.Context, part named) error {
	return panics.Try(part.name, func() error { return part.run(ctx) })
}
