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
	servers, caches *group
	// informers are those of the controllers. They outlive the reconcilers, since admission reads them until its server
	// has drained.
	informers                   *group
	certificates, webhook, work *group

	// reconciling is the context of the sources and workers of the reconcilers.
	reconciling    context.Context
	endReconciling context.CancelFunc
	fail           context.CancelCauseFunc
}

// newStages returns the groups. They outlive ctx, each until it is stopped; fail is called with the first
// error of any.
func newStages(ctx context.Context, fail context.CancelCauseFunc) *stages {
	base := context.WithoutCancel(ctx)
	s := &stages{fail: fail}
	s.reconciling, s.endReconciling = context.WithCancel(base)
	for _, g := range []**group{&s.servers, &s.caches, &s.informers, &s.certificates, &s.webhook, &s.work} {
		*g = newGroup(base, fail)
	}
	return s
}

// stopErrors returns the errors of components that failed while they stopped.
func (s *stages) stopErrors() []error {
	var errs []error
	for _, g := range []*group{s.work, s.webhook, s.certificates, s.informers, s.caches, s.servers} {
		errs = append(errs, g.late()...)
	}
	return errs
}

// group runs components under one context and reports the first that fails.
type group struct {
	ctx    context.Context
	cancel context.CancelFunc
	fail   context.CancelCauseFunc
	wait   sync.WaitGroup

	mu      sync.Mutex
	running []string
	errs    []error // of components that failed after the group was stopped
}

func newGroup(ctx context.Context, fail context.CancelCauseFunc) *group {
	g := &group{fail: fail}
	g.ctx, g.cancel = context.WithCancel(ctx)
	return g
}

// Go starts components. One that returns before the group is stopped has failed, whatever it returns.
func (g *group) Go(components ...component) {
	for _, c := range components {
		g.mu.Lock()
		g.running = append(g.running, c.name)
		g.mu.Unlock()
		g.wait.Go(func() {
			err := runContained(g.ctx, c)
			g.mu.Lock()
			defer g.mu.Unlock()
			if i := slices.Index(g.running, c.name); i >= 0 {
				g.running = slices.Delete(g.running, i, i+1)
			}
			switch {
			case g.ctx.Err() == nil && err == nil:
				g.fail(fmt.Errorf("%s: ended unexpectedly", c.name))
			case g.ctx.Err() == nil:
				g.fail(err)
			case err != nil && !errors.Is(err, context.Canceled):
				g.errs = append(g.errs, err)
			}
		})
	}
}

// Wait returns when every component has returned.
func (g *group) Wait() { g.wait.Wait() }

// Stop cancels the group and waits for it within ctx. It returns the names of those that still run.
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

// runContained runs a component and returns a panic as an error: the others stop in their order then,
// and the Lease is released.
func runContained(ctx context.Context, c component) error {
	return panics.Try(c.name, func() error { return c.run(ctx) })
}
