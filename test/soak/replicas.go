// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"strings"
	"time"
)

const (
	// rounds is how often a leader is ended in its row.
	rounds = 3
	// minReady is how long a new replica has been ready when an old one may go.
	minReady = 2 * time.Second
	// lostWithin is how long a leader may take that has lost its lease: the renew deadline, the drain,
	// and a busy machine.
	lostWithin = time.Minute
)

// rollOut replaces every replica: a new one is ready before an old one gets SIGTERM.
func rollOut(ctx context.Context, a *attempt) error {
	old := a.running()
	for _, r := range old {
		if err := a.start(ctx, whole); err != nil {
			return err
		}
		if err := a.inService(ctx, replicas+1); err != nil {
			return err
		}
		if err := pause(ctx, minReady); err != nil {
			return err
		}
		a.stop(r)
		a.endedWell(ctx, r)
	}
	a.note("%d replicas replaced, one after the other", len(old))
	_, err := a.leader(ctx)
	return err
}

// stopLeaders tells the leader to stop, several times; another replica follows it.
func stopLeaders(ctx context.Context, a *attempt) error {
	for range rounds {
		leader, err := a.leader(ctx)
		if err != nil {
			return err
		}
		a.stop(leader)
		a.endedWell(ctx, leader)
		if err := a.start(ctx, whole); err != nil {
			return err
		}
		if _, err := a.leader(ctx, leader); err != nil {
			return err
		}
		if err := a.inService(ctx, replicas); err != nil {
			return err
		}
	}
	a.note("%d leaders told to stop", rounds)
	return nil
}

// killReconcilers kills the leader, several times, where it is a process that only reconciles.
func killReconcilers(ctx context.Context, a *attempt) error {
	for range rounds {
		leader, err := a.leader(ctx)
		if err != nil {
			return err
		}
		if err := a.killLeader(ctx, leader); err != nil {
			return err
		}
	}
	a.note("%d leaders killed, and none of them served webhooks", rounds)
	return nil
}

// killLeaders kills the leader, several times, at whatever it is doing, answering webhooks included.
func killLeaders(ctx context.Context, a *attempt) error {
	held, missed := 0, 0
	for range rounds {
		leader, err := a.leader(ctx)
		if err != nil {
			return err
		}
		lost := a.excuseLosses(leader)
		if err := a.killLeader(ctx, leader); err != nil {
			return err
		}
		inIt, later := lost()
		held, missed = held+inIt, missed+later
	}
	a.note("%d leaders killed that served webhooks; %d calls were in them, %d were sent to them before the Service knew",
		rounds, held, missed)
	return nil
}

// killLeader kills the leader, runs another process in its place, and waits for another to lead.
func (a *attempt) killLeader(ctx context.Context, leader *replica) error {
	a.kill(leader)
	if err := a.start(ctx, leader.role); err != nil {
		return err
	}
	if _, err := a.leader(ctx, leader); err != nil {
		return err
	}
	a.leave(leader)
	return a.inService(ctx, replicas)
}

// loseLease cuts the leader off from the API server until it has lost its lease.
func loseLease(ctx context.Context, a *attempt) error {
	lost, next, err := a.cutOffLeader(ctx)
	if err != nil {
		return err
	}
	code, err := a.ended(ctx, lost, lostWithin)
	if err != nil {
		return err
	}
	if code == 0 {
		a.wrong("%s lost its lease and ended with exit code 0", lost.ID)
	}
	if text, err := lost.Logs(); err != nil || !strings.Contains(text, "leader election lost") {
		a.wrong("%s does not say that it lost the election (%v)", lost.ID, err)
	}
	a.leave(lost)
	if err := a.start(ctx, whole); err != nil {
		return err
	}
	a.note("%s could not reach the API server, drained and ended with exit code %d; %s leads", lost.ID, code, next.ID)
	return a.inService(ctx, replicas)
}

// cutOffLeader cuts the leader off from the API server until another replica leads.
func (a *attempt) cutOffLeader(ctx context.Context) (lost, next *replica, err error) {
	if lost, err = a.leader(ctx); err != nil {
		return nil, nil, err
	}
	a.printf("%s is cut off from the API server", lost.ID)
	lost.api.Set(silent)
	next, err = a.leader(ctx, lost)
	return lost, next, err
}

// endedWell wants a replica that was told to stop to have ended well.
func (a *attempt) endedWell(ctx context.Context, r *replica) {
	if err := r.Wait(ctx); err != nil {
		a.wrong("%s was told to stop, and ended with: %v", r.ID, err)
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
