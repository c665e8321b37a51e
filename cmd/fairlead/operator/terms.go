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
)

// reconciler is a controller. Warm starts its sources and returns when they have synced; Start
// reconciles until ctx ends and returns when the last object is done.
type reconciler struct {
	name  string
	warm  run
	start run
}

// term is what one time of leading takes: a cache and controllers, none of which starts twice.
type term struct {
	cache       run                             // runs the informers
	sync        func(ctx context.Context) error // returns when those that admission reads have synced
	reconcilers []reconciler
	end         func() // forgets it, when all of it has ended; may be nil
}

// seat is a term with the contexts it runs in: the sources and workers of its reconcilers end first,
// and its caches after them.
type seat struct {
	*term
	reconciling    context.Context
	endReconciling context.CancelFunc
	caches         *group
}

// sit makes a term, starts its cache and warms its reconcilers. What it returns must be vacated, also
// with an error.
func (l *lifecycle) sit(ctx context.Context, s *stages) (*seat, error) {
	made, err := l.term(ctx)
	if err != nil {
		return nil, err
	}
	taken := &seat{term: made, caches: s.lend()}
	taken.reconciling, taken.endReconciling = context.WithCancel(s.reconciling)
	taken.caches.Go(named{"caches", made.cache})
	if err := made.sync(ctx); err != nil {
		return taken, err
	}
	if l.warmup {
		return taken, l.warm(ctx, taken)
	}
	return taken, nil
}

// vacate ends everything of a term and waits for it, within ctx.
func (l *lifecycle) vacate(ctx context.Context, taken *seat) error {
	if taken == nil {
		return nil
	}
	taken.endReconciling()
	if late := taken.caches.Stop(ctx); len(late) > 0 {
		return fmt.Errorf("still running: %v", late)
	}
	if taken.end != nil {
		taken.end()
	}
	return nil
}

// work waits for the election and reconciles. A replica that is demoted stands again.
func (l *lifecycle) work(ctx context.Context, s *stages, taken *seat) error {
	if l.elect == nil {
		l.recorder.Skip(phases.Election, "leader election is off")
		return l.reconcile(ctx, s, taken)
	}
	for {
		elected := l.recorder.Begin(phases.Election)
		err := l.elect(ctx, func(leading context.Context) error {
			elected(nil)
			err := l.reconcile(leading, s, taken)
			if l.demote && errors.Is(context.Cause(leading), leaderelection.ErrLost) {
				// Within the time that the election allows, or the process ends.
				return errors.Join(err, l.vacate(context.WithoutCancel(leading), taken))
			}
			return err
		})
		if !l.demote || ctx.Err() != nil || !errors.Is(err, leaderelection.ErrLost) || errors.Is(err, leaderelection.ErrOutlived) {
			return err
		}
		l.logger.Info("demoted: the Lease is lost and the reconcilers have stopped; webhooks go on, and this replica stands for election again")
		l.recorder.Skip(phases.Reconcilers, "the Lease was lost; a candidate again")
		if taken = l.sitAgain(ctx, s); taken == nil {
			return nil
		}
	}
}

// sitAgain is sit for a replica that serves webhooks meanwhile: what would end a start is tried again
// and again. It returns nil where ctx has ended.
func (l *lifecycle) sitAgain(ctx context.Context, s *stages) *seat {
	pause := l.pause
	for {
		var taken *seat
		err := l.recorder.Do(ctx, phases.Caches, func(ctx context.Context) (err error) {
			taken, err = l.sit(ctx, s)
			return err
		})
		if err == nil {
			return taken
		}
		if ctx.Err() != nil {
			return nil
		}
		if late := l.vacate(ctx, taken); late != nil {
			err = errors.Join(err, late)
		}
		l.logger.Error(err, "cannot stand for election again yet; retrying", "in", pause)
		retry := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			retry.Stop()
			return nil
		case <-retry.C:
		}
		pause = min(2*pause, maxPause)
	}
}

// maxPause is the longest between two attempts to stand again.
const maxPause = 15 * time.Second

// reconcile runs the reconcilers until leading ends, and returns when the last has ended.
func (l *lifecycle) reconcile(leading context.Context, s *stages, taken *seat) error {
	// Sources that were warmed run under a context of their own: they and the queue that they
	// fill must end with the leadership, or the workers would wait for the queue forever.
	stop := context.AfterFunc(leading, taken.endReconciling)
	defer stop()
	err := l.recorder.Do(taken.reconciling, phases.Reconcilers, func(ctx context.Context) error { //nolint:contextcheck // ends with leading, see above
		if l.warmup {
			return nil // as it was, with the caches
		}
		return l.warm(ctx, taken)
	})
	if taken.reconciling.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	l.witness.note(deed{Event: eventLead})
	defer l.witness.note(deed{Event: eventUnlead})
	group := newGroup(taken.reconciling, s.fail) //nolint:contextcheck // ends with leading, see above
	for _, r := range taken.reconcilers {
		group.Go(named{r.name, r.start})
	}
	<-taken.reconciling.Done()
	group.Wait()
	return nil
}

// warm starts the sources of all reconcilers, under the context in which they will live, and
// waits for them within ctx.
func (l *lifecycle) warm(ctx context.Context, taken *seat) error {
	results := make(chan error, len(taken.reconcilers))
	for _, r := range taken.reconcilers {
		go func() { results <- contain(taken.reconciling, named{r.name, r.warm}) }()
	}
	for range taken.reconcilers {
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
