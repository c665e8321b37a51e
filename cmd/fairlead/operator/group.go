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

// component is a function that runs until its context ends, with its name in errors and logs.
type component struct {
	name string
	run  func(ctx context.Context) error
}

// group runs components until it is stopped. It reports the first component that fails or ends by itself.
type group struct {
	ctx    context.Context // not canceled with the context of the process
	cancel context.CancelFunc
	fail   context.CancelCauseFunc
	wait   sync.WaitGroup

	mu      sync.Mutex
	running []string
	errs    []error // of components that failed while they stopped
}

func newGroup(ctx context.Context, fail context.CancelCauseFunc) *group {
	g := &group{fail: fail}
	g.ctx, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return g
}

// start starts components.
func (g *group) start(components ...component) {
	for _, c := range components {
		g.mu.Lock()
		g.running = append(g.running, c.name)
		g.mu.Unlock()
		g.wait.Go(func() {
			err := contained(c.name, c.run)(g.ctx)
			g.mu.Lock()
			defer g.mu.Unlock()
			i := slices.Index(g.running, c.name)
			g.running = slices.Delete(g.running, i, i+1)
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

// stop ends the components and waits for them until ctx ends. It returns the errors of those that failed meanwhile, and
// names those that still run.
func (g *group) stop(ctx context.Context) error {
	g.cancel()
	ended := make(chan struct{})
	go func() {
		g.wait.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	errs := slices.Clone(g.errs)
	if len(g.running) > 0 {
		errs = append(errs, fmt.Errorf("still running when the shutdown timeout ended: %v", g.running))
	}
	return errors.Join(errs...)
}

// contained wraps run so that a panic becomes an error. The other components then stop in their order, and the Lease is
// released.
func contained(name string, run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return panics.Try(name, func() error { return run(ctx) }) }
}

// after wraps run so that it begins once done is closed.
func after(done <-chan struct{}, run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-done:
			return run(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// untilDone waits until ctx ends.
func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
