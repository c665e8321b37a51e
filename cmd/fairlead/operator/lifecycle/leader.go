// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
)

// Reconciler is a controller. Warm starts its sources and returns when they have synced; Start
// reconciles until ctx ends and returns when the last object is done.
type Reconciler struct {
	Name  string
	Warm  Run
	Start Run
}

// Controllers are those of this replica, with the caches that they read.
type Controllers struct {
	Caches      []Component                     // run the informers
	Sync        func(ctx context.Context) error // returns when those that admission reads have synced
	Reconcilers []Reconciler

	warmups map[string]*warmup // of reconcilers, by their names; nil until they are warmed
}

// warmup is a part of the controllers that is attempted until it succeeds, whatever becomes of the other parts: a kind whose CRD
// is missing, or that may not be listed, takes nothing from the other kinds.
type warmup struct {
	name            string
	attempted, done chan struct{} // closed after the first attempt, and after the one that succeeded
}

// Leader fills the caches of the controllers, takes part in the election, and reconciles while it leads. Its caches and its
// reconcilers are two phases.
type Leader struct {
	// Attempts attempt the caches.
	Attempts Attempts
	// LeadershipLog records when this replica leads. Nil: nothing does.
	LeadershipLog *LeadershipLog
	// Warmup warms the reconcilers before this replica is elected.
	Warmup bool
	// Patience is how long the election waits for caches; 0 means without a bound.
	Patience time.Duration
	// Create makes what reconciles; called until it succeeds.
	Create func(ctx context.Context) (*Controllers, error)
	// Claim returns nil once this installation is the one that reconciles, and is called while it leads. Until then it
	// calls waiting with the reason. Nil: it is.
	Claim func(ctx context.Context, waiting func(error)) error
	// Elect waits to be elected, runs lead, and returns when lead has ended and the Lease is
	// released, or lost. Nil: no election.
	Elect func(ctx context.Context, lead func(context.Context) error) error

	informers *Group
	// reconciling is the context of the sources and workers of the reconcilers.
	reconciling    context.Context
	endReconciling context.CancelFunc
	created        chan struct{} // closed when there are controllers
	controllers    *Controllers
}

// StartCaches takes the group of the informers.
func (l *Leader) StartCaches(in *Group) {
	l.informers, l.created = in, make(chan struct{})
	l.reconciling, l.endReconciling = context.WithCancel(in.ctx) //nolint:gosec // StartReconcilers has it called
}

// CachesReady creates the controllers, starts their caches and warms their reconcilers.
func (l *Leader) CachesReady(ctx context.Context) error {
	c, err := l.Create(ctx)
	if err != nil {
		return err
	}
	l.controllers = c
	l.informers.Go(c.Caches...)
	admission := l.startWarmup(phases.Caches, "warnings of admission", c.Sync)
	err = l.awaitAttempts(ctx, phases.Caches, admission)
	if err == nil && l.Warmup {
		err = l.warm(ctx, phases.Caches)
	}
	if err == nil {
		close(l.created)
	}
	return err
}

// StartReconcilers waits for the election, and reconciles.
func (l *Leader) StartReconcilers(in *Group) {
	context.AfterFunc(in.ctx, l.endReconciling)
	in.Go(Component{"reconcilers", After(l.created, func(ctx context.Context) error { return l.work(ctx, in.fail) })})
}

// work waits for the election and reconciles. fail is called with the first error of a reconciler.
func (l *Leader) work(ctx context.Context, fail context.CancelCauseFunc) error {
	if l.Elect == nil {
		l.Attempts.Recorder.Skip(phases.Election, "leader election is off")
		return l.reconcile(ctx, fail)
	}
	elected := l.Attempts.Recorder.Begin(phases.Election)
	return l.Elect(ctx, func(leading context.Context) error {
		elected(nil)
		return l.reconcile(leading, fail)
	})
}

// reconcile runs the reconcilers until leading ends, and returns when the last has ended.
func (l *Leader) reconcile(leading context.Context, fail context.CancelCauseFunc) error {
	// Sources that were warmed run under a context of their own: they and the queue that they
	// fill must end with the leadership, or the workers would wait for the queue forever.
	ctx := l.reconciling
	defer context.AfterFunc(leading, l.endReconciling)()
	recorder := l.Attempts.Recorder
	err := recorder.Do(ctx, phases.Reconcilers, func(ctx context.Context) error { //nolint:contextcheck // ends with leading, see above
		if l.Warmup {
			return nil // it was done with the caches
		}
		return l.warm(ctx, phases.Reconcilers)
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	if l.Claim != nil {
		onRetry := func(err error) { recorder.SetLate(phases.Reconcilers, "", err) }
		err := l.Claim(ctx, onRetry) //nolint:contextcheck // ends with leading, see above
		if err != nil || ctx.Err() != nil {
			return err
		}
		recorder.SetLate(phases.Reconcilers, "", nil)
	}
	l.LeadershipLog.write(leadershipEntry{Event: eventLead})
	defer l.LeadershipLog.write(leadershipEntry{Event: eventUnlead})
	group := newGroup(ctx, fail) //nolint:contextcheck // ends with leading, see above
	for _, r := range l.controllers.Reconcilers {
		group.Go(Component{r.Name, After(l.controllers.warmups[r.Name].done, r.Start)})
	}
	<-ctx.Done()
	group.Wait()
	return nil
}

// warm starts the sources of all reconcilers and waits within ctx until each was attempted. After the patience it goes on:
// to lead some kinds is better than to lead none.
func (l *Leader) warm(ctx context.Context, phase phases.Phase) error {
	warmups := map[string]*warmup{}
	for _, r := range l.controllers.Reconcilers {
		warmups[r.Name] = l.startWarmup(phase, r.Name, r.Warm)
	}
	l.controllers.warmups = warmups
	return l.awaitAttempts(ctx, phase, slices.Collect(maps.Values(warmups))...)
}

// startWarmup attempts a part of the controllers under the context in which it will live.
func (l *Leader) startWarmup(phase phases.Phase, name string, try Run) *warmup {
	w := &warmup{name: name, attempted: make(chan struct{}), done: make(chan struct{})}
	first := sync.OnceFunc(func() { close(w.attempted) })
	l.informers.Go(Component{name, func(ctx context.Context) error {
		defer first()
		attempt := func(ctx context.Context) error {
			err := try(ctx)
			if err == nil {
				close(w.done)
			}
			return err
		}
		l.Attempts.persist(l.reconciling, phase, name, attempt, first) //nolint:contextcheck // the sources end with the leadership
		first()
		return untilDone(ctx)
	}})
	return w
}

// awaitAttempts waits until each was attempted, at most for the patience, and records those that are late then.
func (l *Leader) awaitAttempts(ctx context.Context, phase phases.Phase, all ...*warmup) error {
	var late <-chan time.Time
	if l.Patience > 0 {
		timer := time.NewTimer(l.Patience)
		defer timer.Stop()
		late = timer.C
	}
	for _, w := range all {
		select {
		case <-w.attempted:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			closed := make(chan time.Time)
			close(closed)
			late = closed // for those that follow
			l.Attempts.Recorder.SetLate(phase, w.name, fmt.Errorf("not done within %s", l.Patience))
			select {
			case <-w.done: // meanwhile
				l.Attempts.Recorder.SetLate(phase, w.name, nil)
			default:
			}
		}
	}
	return nil
}

// ReadyToLead returns nil where a replica without webhooks could take over: the start has come to the election,
// so its caches are filled, unless warmup is off.
func ReadyToLead(status phases.Status) error {
	for _, row := range status.Phases {
		switch row.State {
		case phases.Done, phases.Skipped, phases.Late:
		case phases.Running:
			if row.Phase == phases.Election || row.Phase == phases.Reconcilers {
				return nil
			}
			return notReadyToLead(row)
		default:
			return notReadyToLead(row)
		}
	}
	return nil
}

func notReadyToLead(row phases.PhaseStatus) error {
	if row.Detail != "" {
		return fmt.Errorf("the start has not come to the election: %s is %s: %s", row.Phase, row.State, row.Detail)
	}
	return fmt.Errorf("the start has not come to the election: %s is %s", row.Phase, row.State)
}
