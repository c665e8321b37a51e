// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// Run runs until its context ends. To return before that is an error.
type Run func(ctx context.Context) error

// Component is a Run with the name that errors and the log call it by.
type Component struct {
	Name string
	Run  Run
}

// Stage is when a group stops: the stages stop one after another, the last one first.
type Stage int

// The stages, the last to stop first.
const (
	// ServerStage is that of probes, metrics and profiles.
	ServerStage Stage = iota
	// BackgroundStage is that of what needs the API server alone.
	BackgroundStage
	// InformerStage outlives the reconcilers, since admission reads the informers until its server has drained.
	InformerStage
	// CertificateStage is that of the serving certificate and the CA bundle.
	CertificateStage
	// WebhookStage is that of the webhook server.
	WebhookStage
	// ReconcilerStage is that of the reconcilers, and of attempts at phases.
	ReconcilerStage
)

// stages are the groups, by their stage.
type stages [ReconcilerStage + 1]*Group

// newStages returns the groups. They outlive ctx, each until it is stopped; fail is called with the first
// error of any.
func newStages(ctx context.Context, fail context.CancelCauseFunc) *stages {
	var s stages
	for i := range s {
		s[i] = newGroup(context.WithoutCancel(ctx), fail)
	}
	return &s
}

// Group runs components under one context and reports the first that fails.
type Group struct {
	ctx    context.Context
	cancel context.CancelFunc
	fail   context.CancelCauseFunc
	wait   sync.WaitGroup

	mu      sync.Mutex
	running []string
	errs    []error // of components that failed after the group was stopped
}

func newGroup(ctx context.Context, fail context.CancelCauseFunc) *Group {
	g := &Group{fail: fail}
	g.ctx, g.cancel = context.WithCancel(ctx)
	return g
}

// Go starts components. One that returns before the group is stopped has failed, whatever it returns.
func (g *Group) Go(components ...Component) {
	for _, c := range components {
		g.mu.Lock()
		g.running = append(g.running, c.Name)
		g.mu.Unlock()
		g.wait.Go(func() {
			err := runContained(g.ctx, c)
			g.mu.Lock()
			defer g.mu.Unlock()
			if i := slices.Index(g.running, c.Name); i >= 0 {
				g.running = slices.Delete(g.running, i, i+1)
			}
			switch {
			case g.ctx.Err() == nil && err == nil:
				g.fail(fmt.Errorf("%s: ended unexpectedly", c.Name))
			case g.ctx.Err() == nil:
				g.fail(err)
			case err != nil && !errors.Is(err, context.Canceled):
				g.errs = append(g.errs, err)
			}
		})
	}
}

// Wait returns when every component has returned.
func (g *Group) Wait() { g.wait.Wait() }

// Stop cancels the group and waits for it within ctx. It returns the names of those that still run.
func (g *Group) Stop(ctx context.Context) []string {
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

// stopErrors returns the errors of components that failed while they stopped.
func (g *Group) stopErrors() []error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.errs)
}

// runContained runs a component and returns a panic as an error: the others stop in their order then,
// and the Lease is released.
func runContained(ctx context.Context, c Component) error {
	return panics.Try(c.Name, func() error { return c.Run(ctx) })
}

// After returns a Run that begins once done is closed.
func After(done <-chan struct{}, next Run) Run {
	return func(ctx context.Context) error {
		select {
		case <-done:
			return next(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// untilDone is a Run of nothing.
func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
